"""Is the plan right? Archives are profiled, their clones are simulated, and the local endpoint gets such requests.

    python -m benchmarks.plan_against_endpoint dist/cpu/digits.tar.gz dist/fused/digits.tar.gz --rounds 20

The memory budget holds --resident of the clones. Each is requested once, the least popular first; then requests come as
a Poisson process, spread by Zipf's law, in rounds of --minutes, of a seed each. Predicted is what lies between the 10th
and the 90th percentile of simulated runs of the same length, of other seeds; measured are CloudWatch's metrics of the
endpoint and the times of the client. ModelLatency is the container's time alone, without the wait for a load, so its
mean is that of requests whose model is loaded. Each round is appended to --results at its end, and the next call
continues: up to --rounds of each archive, for --budget minutes.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders.local_endpoint import NAME, running_endpoint
from benchmarks.examples import row_payloads
from benchmarks.open_load import arrivals, send_at
from checkout import ROOT
from triton_ensembles.building.variants.table import clone_names
from triton_ensembles.building.variants.written import clone
from triton_ensembles.deploy.resource_names import VARIANT
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.measuring.planning.demand import Floats, demand_of
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.simulation import simulate
from triton_ensembles.measuring.planning.traffic import Recorded, Traffic, zipf
from triton_ensembles.measuring.planning.workload import workload
from triton_ensembles.measuring.profiling.profile import Profile, read_profile
from triton_ensembles.sagemaker.metric_names import METRICS

ALPHA = 1.1
_MINUTE = 60
_FIGURES = ("cold, %", "loads", "mean of loaded, ms", "p50, ms", "mean, ms", "p99, ms", "memory, MiB")


def add_rounds(archive: Path, options: argparse.Namespace, seconds: float) -> None:
    """Measure rounds until there are enough, for so many seconds. RuntimeError: the endpoint answers with errors."""
    began, profile = time.monotonic(), _profiled(archive)
    done = len(_done(options, profile.form))
    cores = len(os.sched_getaffinity(0))
    demand = demand_of(profile, Host("here", cores, 1 << 60))
    budget = demand.server_bytes + demand.shared_bytes + (options.resident + 0.5) * demand.memory_bytes
    host = Host("here", cores, round(budget * 64 / 63))
    traffic = zipf(options.models, ALPHA, options.rate)
    length, payloads = _MINUTE * options.minutes, row_payloads(profile.ensemble)
    predicted = _predicted(profile, traffic, host, length)
    names = clone_names("model", options.models)
    targets = [f"{name}.tar.gz" for name in names]

    async def round_of(local: LocalEndpoint, start: float, seed: int) -> None:
        await asyncio.sleep(start - time.time())
        print(f"{profile.form}: round {seed} of {options.rounds}", file=sys.stderr, flush=True)
        outcome = await send_at(local.url, targets, payloads, *arrivals(traffic.rates.tolist(), length, seed))
        if outcome.failed:
            raise RuntimeError(f"{len(outcome.failed)} requests failed, such as {outcome.failed[0]}")
        cold, loads, latency, memory = await asyncio.to_thread(_metrics, local, round(start), length)
        figures = (100 * cold, loads, latency, *_times(np.array(outcome.seconds)), memory * host.memory_bytes / 2**20)
        record = {"form": profile.form, "settings": options.settings, "requests": len(outcome.seconds)}
        with options.results.open("a") as file:
            file.write(json.dumps(record | {"predicted": predicted, "measured": figures}) + "\n")

    async def all_rounds(local: LocalEndpoint) -> None:
        settle = _MINUTE + _MINUTE - time.time() % _MINUTE
        start, left = time.time() + settle, seconds - (time.monotonic() - began)
        seeds = range(done + 1, done + 1 + min(options.rounds - done, max(0, int((left - settle) // length))))
        async with asyncio.TaskGroup() as group:
            group.create_task(send_at(local.url, targets, payloads, *arrivals(traffic.rates.tolist(), settle, 0)))
            for number, seed in enumerate(seeds):
                group.create_task(round_of(local, start + number * length, seed))

    with tempfile.TemporaryDirectory(prefix="plan-") as folder:
        clones = _each(archive, names, Path(folder) / "clones")
        limits = ("--memory-budget", str(host.memory_bytes), "--disk-budget", "400G")
        with running_endpoint(Path(folder), clones, *limits, flags="--disable-auto-complete-config") as local:
            for model in reversed(range(options.models)):
                asyncio.run(send_at(local.url, targets, payloads, [0.0], [model]))
            asyncio.run(all_rounds(local))


def _predicted(profile: Profile, traffic: Traffic, host: Host, length: int) -> Any:
    """The 10th, 50th and 90th percentile of each of _FIGURES."""
    work, runs = workload([(profile, 1.0)], traffic, host), []
    for seed in range(1000, 1040):
        times, indices = (np.array(values) for values in arrivals(traffic.rates.tolist(), 2 * length, seed))
        run = simulate(work, host, 1, Recorded(times, indices), seed=seed)
        counted = run.times >= length
        cold, seconds = run.cold[counted], run.seconds[counted]
        shares = [100 * float(cold.mean()), float(run.loads[counted].sum()), 1000 * float(seconds[~cold].mean())]
        runs.append([*shares, *_times(seconds), run.prediction.memory_bytes / 2**20])
    return np.percentile(np.array(runs), (10, 50, 90), axis=0).T.tolist()


def _times(seconds: Floats) -> list[float]:
    """p50, mean and p99 in milliseconds."""
    p50, p99 = np.quantile(1000 * seconds, (0.5, 0.99)).tolist()
    return [p50, 1000 * float(seconds.mean()), p99]


def _done(options: argparse.Namespace, form: str) -> list[dict[str, Any]]:
    """The rounds so far, of this form and these settings."""
    rounds = map(json.loads, options.results.read_text().splitlines() if options.results.exists() else ())
    return [done for done in rounds if (done["form"], done["settings"]) == (form, options.settings)]


def table(options: argparse.Namespace) -> str:
    """How many of the rounds fell into the predicted ranges, and by how much their middle missed, as Markdown."""
    short = partial(np.format_float_positional, precision=3, fractional=False, trim="-")
    forms = {form: done for form in ("drawn", "fused") if (done := _done(options, form))}
    head = ("", *(f"{form}, {text}" for form in forms for text in ("predicted", "measured", "inside", "mean error")))
    rows = [head, ("---",) * len(head)]
    for figure, name in enumerate(_FIGURES):
        cells = [name]
        for done in forms.values():
            low, middle, high = np.array([record["predicted"][figure] for record in done]).T
            values = np.array([record["measured"][figure] for record in done])
            error = np.abs(values - middle).mean() / max(values.mean(), 1e-9)
            inside = f"{((low <= values) & (values <= high)).sum()} of {len(values)}"
            cells += [f"{short(low.mean())} to {short(high.mean())}", short(values.mean()), inside, f"{error:.0%}"]
        rows.append(tuple(cells))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _profiled(archive: Path) -> Profile:
    command = [sys.executable, "build.py", "profile", str(archive), "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    return read_profile(Path(json.loads(done.stdout)["profiles"][0]["file"]))


def _each(archive: Path, names: list[str], folder: Path) -> Iterator[Path]:
    for path in clone(archive, names, folder):
        yield path
        path.unlink()


def _metrics(local: LocalEndpoint, start: int, length: int) -> tuple[float, int, float, float]:
    """The share of cold requests, the number of loads, the milliseconds of an answer, and the share of the memory."""

    def values(name: str) -> tuple[float, int]:
        points = local.client("cloudwatch").get_metric_statistics(
            Namespace=METRICS[name].namespace,
            MetricName=name,
            Dimensions=[{"Name": "EndpointName", "Value": NAME}, {"Name": "VariantName", "Value": VARIANT}],
            StartTime=datetime.fromtimestamp(start, UTC),
            EndTime=datetime.fromtimestamp(start + length, UTC),
            Period=length,
            Statistics=["Sum", "SampleCount"],
        )["Datapoints"]
        total, count = (sum(point[key] for point in points) for key in ("Sum", "SampleCount"))
        return total / count if count else 0.0, int(count)

    hits, latency, memory = (values(name)[0] for name in ("ModelCacheHit", "ModelLatency", "MemoryUtilization"))
    return 1 - hits, values("ModelLoadingTime")[1], latency / 1000, memory / 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path, help="of ensembles of the project")
    parser.add_argument("--models", type=int, default=40, help="clones of each (40)")
    parser.add_argument("--resident", type=int, default=20, help="of them, for which there is memory (20)")
    parser.add_argument("--rate", type=float, default=1.0, help="requests a second (1)")
    parser.add_argument("--minutes", type=int, default=2, help="of a round (2)")
    parser.add_argument("--rounds", type=int, default=10, help="of each archive (10)")
    parser.add_argument("--budget", type=float, default=60, help="minutes for all that is still to be measured (60)")
    parser.add_argument("--results", type=Path, default=Path("reports/plan.jsonl"), help="of all rounds so far")
    options = parser.parse_args()
    options.settings = [options.models, options.resident, options.rate, options.minutes]
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for archive in options.archives:
        add_rounds(archive.resolve(), options, _MINUTE * options.budget / len(options.archives))
        print(table(options), flush=True)


if __name__ == "__main__":
    main()
