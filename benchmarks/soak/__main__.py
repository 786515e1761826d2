"""The command line; see __init__.py."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import benchmarks.soak
from benchmarks.soak.models import write_models
from benchmarks.soak.subjects import endpoint, host
from benchmarks.soak.traffic import Clients, drawn
from benchmarks.soak.verdict import faults, figures
from benchmarks.soak.watch import Sample, Watch, memory_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress

FORMS = {"endpoint": endpoint, "host": host}
_SHARE = 10  # the budget is for one in ten
_REPORT_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    """The ensembles, the requests to them, and the most seconds that these may take."""

    models: int
    requests: int
    clients: int
    seconds: float
    form: str = "endpoint"


@dataclass(frozen=True)
class Outcome:
    """Lines for people, the faults (none: all is well), and every look."""

    figures: list[str]
    faults: list[str]
    samples: list[Sample]


def soak(folder: Path, plan: Plan, progress: Progress) -> Outcome:
    progress(f"packing {plan.models} ensembles")
    archives = list(write_models(plan.models, folder / "archives"))
    budget = memory_of(FORMS[plan.form], folder, archives).budget(plan.models / _SHARE)
    progress(f"the budget for {plan.models / _SHARE:g} of them: {budget / 2**20:.0f} MiB")
    with FORMS[plan.form](folder, archives, str(budget)) as subject:
        progress(f"in service with {plan.models} archives")
        watch = Watch(subject)
        clients = Clients(subject.client, drawn(plan.models, plan.requests), plan.clients)
        began = time.monotonic()
        clients.start()
        try:
            samples = list(_looks(watch, clients, began, plan.seconds, progress))
        finally:
            clients.stop()
        took = time.monotonic() - began
    lines = list(figures(clients.traffic, samples, budget, took))
    return Outcome(lines, list(faults(clients.traffic, samples, budget, plan.requests)), samples)


def _looks(watch: Watch, clients: Clients, began: float, seconds: float, progress: Progress) -> Iterator[Sample]:
    """Look until all is answered or the time is over, a hundred times or more."""
    pause, reported = max(0.5, min(10.0, seconds / 360)), 0.0
    while clients.running and (now := time.monotonic() - began) < seconds:
        yield (sample := watch.look(clients.traffic.answered))
        if now - reported > _REPORT_SECONDS:
            reported = now
            progress(
                f"{now:.0f} s: {sample.answered} answers, {clients.traffic.not_ready} not ready, "
                f"{clients.traffic.failed} failed, {sample.processes['stubs']} stubs, "
                f"container {sample.container / 2**20:.0f} MiB, load {os.getloadavg()[0]:.1f}"
            )
        time.sleep(pause)
    yield watch.look(clients.traffic.answered)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=benchmarks.soak.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=1000, help="how many ensembles (1000)")
    parser.add_argument("--requests", type=int, default=100_000, help="how many requests (100000)")
    parser.add_argument("--clients", type=int, default=16, help="how many clients call at the same time (16)")
    parser.add_argument("--seconds", type=float, default=3600, help="the longest that it may take (3600)")
    parser.add_argument("--form", choices=FORMS, default="endpoint", help="what is under load (endpoint)")
    arguments = parser.parse_args()
    plan = Plan(arguments.models, arguments.requests, arguments.clients, arguments.seconds, arguments.form)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        try:
            outcome = soak(Path(folder), plan, lambda line: print(line, flush=True))
        except EnsembleError as error:
            sys.exit(f"error: {error}")
    for line in outcome.figures:
        print(line)
    sys.exit("\n".join(["not as it should be:", *outcome.faults]) if outcome.faults else None)


if __name__ == "__main__":
    main()
