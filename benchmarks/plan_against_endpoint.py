"""Is the plan right? An archive is profiled, its clones are planned, and the local endpoint gets the same traffic.

    python -m benchmarks.plan_against_endpoint dist/cpu/digits.tar.gz --models 30 --resident 8
    python -m benchmarks.plan_against_endpoint dist/cpu/bert_trt.tar.gz dist/fused/bert_trt.tar.gz --models 40

For each archive: `build.py profile` (kept from before unless --fresh), a memory budget for so many resident models, a
rate at which the plan says that the busiest resource is in use by --busy, and clones of the archive with Zipf's law of
popularity. Each clone is asked once, the least popular first; then requests come as a Poisson process of a fixed seed,
of which whole minutes count, after --settle seconds. Predicted are the steady state, in closed form, and what becomes
of these very requests, by simulation, which is what has to agree; measured are CloudWatch's metrics of the endpoint and
the times that a client sees. What other programs take of the machine is in no plan, and so it is measured, too.

With examples that take times far apart, the median is of one kind or of the other: digits answers a PNG in 4 ms and a
JPEG in 34. --row 0 sends the first one only, and profiles it.

Warm answers are compared as CloudWatch's ModelLatency, which is what a plan is of: the client in Python takes as long
again for a short answer. It is the container's time alone, without the wait for a load, so its mean is that of warm
requests. The p99 is the client's.
"""

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders.local_endpoint import NAME, running_endpoint
from benchmarks.open_load import Outcome, arrivals, send_at
from benchmarks.row_payloads import row_payloads, rows_of
from checkout import ROOT
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.endpoint.hosting.cpu import family_seconds
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.errors import EnsembleError
from triton_ensembles.perf.inputs import input_data
from triton_ensembles.planning.demand import demand_of
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.predict import predict, workload_for
from triton_ensembles.planning.prediction import Prediction
from triton_ensembles.planning.simulation import Simulated, simulate
from triton_ensembles.planning.traffic import Recorded, zipf
from triton_ensembles.processes import descendants
from triton_ensembles.profiling.profile import Profile, read_profile

ALPHA = 1.1
_DISK = "400G"  # so that every model stays on it
_MINUTE = 60
_LOWEST, _HIGHEST = 0.05, 500.0  # requests a second that are tried


@dataclass(frozen=True)
class Row:
    """One quantity, and how far what is simulated may be from what is measured: ``points`` of a share, or else a share
    of the measured value."""

    name: str
    closed_form: float
    simulated: float
    measured: float
    allowed: float
    points: bool = False

    @property
    def off(self) -> float:
        apart = self.simulated - self.measured
        return apart if self.points else apart / self.measured if self.measured else float("inf")

    @property
    def is_right(self) -> bool:
        return abs(self.off) <= self.allowed


@dataclass(frozen=True)
class Comparison:
    """One archive's plan and run."""

    archive: str
    form: str
    models: int
    resident: float
    rate: float
    minutes: int
    requests: int
    cold_seconds: tuple[float, float]
    client_p50: float
    not_ready: int
    failed: int
    others: float
    rows: tuple[Row, ...]


def compare(archive: Path, arguments: argparse.Namespace) -> Comparison:
    """Raises EnsembleError, or RuntimeError when the endpoint answers with errors."""
    profile = _profiled(archive, arguments.row, fresh=arguments.fresh)
    cores = len(os.sched_getaffinity(0))
    demand = demand_of(profile, Host("here", cores, 1 << 60))
    budget = round(demand.server_bytes + demand.shared_bytes + (arguments.resident + 0.5) * demand.memory_bytes)
    host = Host("here", cores, budget)
    rate = arguments.rate or _rate(profile, host, arguments)
    traffic = zipf(arguments.models, ALPHA, rate)
    prediction = predict([(profile, 1.0)], traffic, host)
    _say(
        f"{archive.name}, {profile.form}: {arguments.models} models, {rate:.2f} requests/s, {budget >> 20} MiB; "
        f"predicted: {prediction.cold:.1%} cold, {prediction.loads_per_second:.2f} loads/s, busiest "
        f"{prediction.busiest:.0%}"
    )
    payloads = row_payloads(profile.ensemble, arguments.row)
    with tempfile.TemporaryDirectory(prefix="plan-") as folder:
        names = clone_names("model", arguments.models)
        clones = _each(archive, names, Path(folder) / "clones")
        budgets = ("--memory-budget", str(budget), "--disk-budget", _DISK)
        with running_endpoint(Path(folder), clones, *budgets, flags="--disable-auto-complete-config") as local:
            models = [f"{name}.tar.gz" for name in names]
            order = list(reversed(range(len(models))))
            _say(f"asking each of {len(models)} once")
            began = time.monotonic()
            first = asyncio.run(_one_by_one(local.url, models, payloads, order))
            _refuse_failures(first)
            _say(f"all were loaded once, in {time.monotonic() - began:.0f} s")
            start = _MINUTE - time.time() % _MINUTE + _MINUTE * -(-arguments.settle // _MINUTE)
            times, asked = arrivals(traffic.rates.tolist(), start + _MINUTE * arguments.minutes, arguments.seed)
            from_, others = time.time() + start, _Others()
            outcome = asyncio.run(send_at(local.url, models, payloads, times, asked))
            taken = others.cores()
            _refuse_failures(outcome)
            measured = _measured(local, from_, arguments.minutes)
    seconds = np.array(outcome.seconds)[np.array(times) >= start]
    recorded = Recorded(np.array(times), np.array(asked))
    simulated = simulate(workload_for([(profile, 1.0)], traffic, host), host, 1, recorded)
    return Comparison(
        archive=archive.name,
        form=profile.form,
        models=arguments.models,
        resident=measured["LoadedModelCount"],
        rate=rate,
        minutes=arguments.minutes,
        requests=len(seconds),
        cold_seconds=_cold_means(simulated, start, seconds, measured["ModelCacheHit"]),
        client_p50=_milliseconds(seconds, measured["ModelCacheHit"] / 2),
        not_ready=outcome.not_ready,
        failed=len(outcome.failed),
        others=taken,
        rows=_rows(prediction, simulated, start, measured, seconds, budget, arguments.minutes * _MINUTE),
    )


def _rows(
    steady: Prediction,
    simulated: Simulated,
    start: float,
    measured: dict[str, float],
    seconds: Any,
    budget: int,
    duration: float,
) -> tuple[Row, ...]:
    same, counted = simulated.prediction, simulated.times >= start
    cold, times = simulated.cold[counted], simulated.seconds[counted]
    loads = float(simulated.loads[counted].sum())
    return (
        Row("cold requests, share", steady.cold, float(cold.mean()), 1 - measured["ModelCacheHit"], 0.02, points=True),
        Row("loads", steady.loads_per_second * duration, loads, measured["loads"], 0.10),
        Row(
            "mean warm, ms",
            math.nan,  # the closed form has no mean
            float(times[~cold].mean()) * 1000,
            measured["ModelLatency"],
            0.15,
        ),
        Row(
            "p99 of all, ms",
            steady.every.p99 * 1000 if steady.every else math.inf,
            _milliseconds(times, 0.99),
            _milliseconds(seconds, 0.99),
            0.30,
        ),
        Row(
            "memory, MiB",
            steady.memory_bytes / 2**20,
            same.memory_bytes / 2**20,
            measured["MemoryUtilization"] * budget / 100 / 2**20,
            0.10,
        ),
    )


def _cold_means(simulated: Simulated, start: float, seconds: Any, hits: float) -> tuple[float, float]:
    """The mean time of cold requests, simulated and measured."""
    counted = (simulated.times >= start) & simulated.cold
    slowest = np.sort(seconds)[round(len(seconds) * hits) :]
    return float(simulated.seconds[counted].mean()), float(slowest.mean())


def _milliseconds(seconds: Any, share: float) -> float:
    """A quantile, in ms."""
    return float(np.quantile(seconds, share)) * 1000


def _rate(profile: Profile, host: Host, arguments: argparse.Namespace) -> float:
    """Requests a second with which the plan says that the busiest resource is in use for the wanted share."""
    low, high = _LOWEST, _HIGHEST
    for _ in range(30):
        middle = (low * high) ** 0.5
        found = predict([(profile, 1.0)], zipf(arguments.models, ALPHA, middle), host)
        low, high = (low, middle) if found.overload or found.busiest > arguments.busy else (middle, high)
    return low


def _profiled(archive: Path, row: int | None, *, fresh: bool) -> Profile:
    """Of all example rows in turn, or else of one, which is measured each time."""
    with tempfile.TemporaryDirectory(prefix="plan-") as folder:
        command = [sys.executable, "build.py", "profile", str(archive), "--format", "json"] + ["--fresh"] * fresh
        if row is not None:
            data = Path(folder) / "row.json"
            data.write_text(input_data(rows_of(archive.name.partition(".")[0], row)))
            command += ["--input-data", str(data)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True, cwd=ROOT)
    found = json.loads(done.stdout)
    if "error" in found:
        raise EnsembleError(found["error"])
    return read_profile(Path(found["profiles"][0]["file"]))


def _each(archive: Path, names: Sequence[str], folder: Path) -> Iterator[Path]:
    for path in clone(archive, names, folder):
        yield path
        path.unlink()


async def _one_by_one(url: str, models: Sequence[str], payloads: Any, order: Sequence[int]) -> Outcome:
    """Ask each model, as soon as the one before has answered."""
    every = Outcome()
    for model in order:
        outcome = await send_at(url, models, payloads, [0.0], [model])
        every.failed += outcome.failed
    return every


def _measured(local: LocalEndpoint, start: float, minutes: int) -> dict[str, float]:
    """CloudWatch's metrics of whole minutes: their averages, ModelLatency in ms, and how many loads there were."""
    cloudwatch = local.client("cloudwatch")
    names = {
        "ModelCacheHit": "AWS/SageMaker",
        "ModelLatency": "AWS/SageMaker",
        "ModelLoadingTime": "AWS/SageMaker",
        "ModelUnloadingTime": "AWS/SageMaker",
        "MemoryUtilization": "/aws/sagemaker/Endpoints",
        "LoadedModelCount": "/aws/sagemaker/Endpoints",
        "CPUUtilization": "/aws/sagemaker/Endpoints",
    }
    asked = {
        "Dimensions": [{"Name": "EndpointName", "Value": NAME}, {"Name": "VariantName", "Value": "AllTraffic"}],
        "StartTime": datetime.fromtimestamp(round(start), UTC),
        "EndTime": datetime.fromtimestamp(round(start) + _MINUTE * minutes, UTC),
        "Period": _MINUTE * minutes,
    }
    found: dict[str, float] = {}
    for name, namespace in names.items():
        points = cloudwatch.get_metric_statistics(
            Namespace=namespace, MetricName=name, **asked, Statistics=["Average", "SampleCount"]
        )["Datapoints"]
        count = sum(point["SampleCount"] for point in points)
        found[name] = sum(point["Average"] * point["SampleCount"] for point in points) / count if count else 0.0
        found[f"{name} count"] = count
    found["loads"] = found["ModelLoadingTime count"]
    found["ModelLatency"] /= 1000
    _say("measured: " + ", ".join(f"{name} {value:.4g}" for name, value in found.items()))
    return found


class _Others:
    """The processor time that other programs take from now on."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), *self._used()

    def cores(self) -> float:
        """How many cores on average."""
        busy, own = self._used()
        return max(0.0, (busy - self._busy) - (own - self._own)) / (time.monotonic() - self._began)

    def _used(self) -> tuple[float, float]:
        """Processor seconds of all programs, and of this one with all that it has started."""
        # proc(5): user, nice, system, idle, iowait, irq, softirq, steal
        ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
        return busy, family_seconds([os.getpid(), *descendants(os.getpid())])


def _refuse_failures(outcome: Outcome) -> None:
    if outcome.failed:
        raise RuntimeError(f"{len(outcome.failed)} requests failed, such as {outcome.failed[0]}")


def table(found: Comparison) -> str:
    """The comparison for a page."""
    lines = [
        f"{found.form} {found.archive}: {found.models} models, {found.resident:.1f} of them loaded on average, "
        f"{found.rate:.2f} requests/s for {found.minutes} min ({found.requests} requests), {found.not_ready} answers "
        f"of 429, {found.failed} failed; other programs took {found.others:.1f} cores; a cold request took "
        f"{found.cold_seconds[0]:.2f} s on average as simulated, {found.cold_seconds[1]:.2f} s as measured; "
        f"of loaded models, the client saw a p50 of {found.client_p50:.1f} ms",
        "",
        "| | closed form | simulated | measured | off | allowed | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found.rows:
        off, allowed = (
            (f"{100 * row.off:+.1f} points", f"{100 * row.allowed:.0f} points")
            if row.points
            else (f"{row.off:+.0%}", f"{row.allowed:.0%}")
        )
        values = (row.closed_form, row.simulated, row.measured)
        sizes = [f"{100 * each:.1f} %" if row.points else f"{each:.1f}" for each in values]
        right = "yes" if row.is_right else "**no**"
        lines.append(f"| {row.name} | {' | '.join(sizes)} | {off} | {allowed} | {right} |")
    return "\n".join(lines)


def _say(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path, help="of ensembles of the project")
    parser.add_argument("--models", type=int, default=30, help="clones of each (30)")
    parser.add_argument("--resident", type=int, default=8, help="of them, for which there is memory (8)")
    parser.add_argument("--busy", type=float, default=0.1, help="share of the busiest resource in use (0.1)")
    parser.add_argument("--rate", type=float, help="requests a second instead")
    parser.add_argument("--minutes", type=int, default=5, help="that are measured (5)")
    parser.add_argument("--settle", type=int, default=60, help="seconds of traffic before (60)")
    parser.add_argument("--seed", type=int, default=16, help="of the traffic (16)")
    parser.add_argument("--row", type=int, help="of the examples, which alone is sent (all of them in turn)")
    parser.add_argument("--fresh", action="store_true", help="profile again")
    parser.add_argument("--json", type=Path, help="a file for the comparisons")
    arguments = parser.parse_args()
    found = []
    try:
        for archive in arguments.archives:
            found.append(compare(archive.resolve(), arguments))
            print(f"\n{table(found[-1])}", flush=True)
    except EnsembleError as error:
        sys.exit(f"error: {error}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in found], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
