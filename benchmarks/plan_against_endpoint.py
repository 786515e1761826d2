"""Is the plan right? An archive is profiled, its clones are simulated, and the local endpoint gets the same requests.

    python -m benchmarks.plan_against_endpoint dist/cpu/digits.tar.gz --models 60 --resident 12 --rate 0.8

The memory budget holds --resident of the clones. Each is requested once, the least popular first; then requests come as
a Poisson process of a fixed seed, spread by Zipf's law. Whole minutes count, after one that does not. Simulated are
these very requests; measured are CloudWatch's metrics of the endpoint and the times of the client. ModelLatency is the
container's time alone, without the wait for a load, so its mean is that of requests whose model is loaded.
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
from pathlib import Path

import numpy as np

from benchmarks.contenders.local_endpoint import NAME, running_endpoint
from benchmarks.open_load import arrivals, send_at
from benchmarks.row_payloads import row_payloads
from checkout import ROOT
from triton_ensembles.archive.clones import clone, clone_names
from triton_ensembles.endpoint.local import LocalEndpoint
from triton_ensembles.measuring.planning.demand import Floats, demand_of
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.simulation import Simulated, simulate
from triton_ensembles.measuring.planning.traffic import Recorded, zipf
from triton_ensembles.measuring.planning.workload import workload
from triton_ensembles.measuring.profiling.profile import Profile, read_profile
from triton_ensembles.sagemaker.metric_names import METRICS

ALPHA = 1.1
SEED = 16
_MINUTE = 60
_MIB = 1 << 20
_COUNTED = ("ModelCacheHit", "ModelLatency", "ModelLoadingTime", "MemoryUtilization", "LoadedModelCount")


def compare(archive: Path, models: int, resident: int, rate: float, minutes: int) -> str:
    """A table of what was simulated and measured. Raises RuntimeError when the endpoint answers with errors."""
    profile = _profiled(archive)
    cores = len(os.sched_getaffinity(0))
    demand = demand_of(profile, Host("here", cores, 1 << 60))
    budget = round((demand.server_bytes + demand.shared_bytes + (resident + 0.5) * demand.memory_bytes) * 64 / 63)
    traffic = zipf(models, ALPHA, rate)
    payloads = row_payloads(profile.ensemble)
    names = clone_names("model", models)
    targets = [f"{name}.tar.gz" for name in names]
    with tempfile.TemporaryDirectory(prefix="plan-") as folder:
        clones = _each(archive, names, Path(folder) / "clones")
        limits = ("--memory-budget", str(budget), "--disk-budget", "400G")
        with running_endpoint(Path(folder), clones, *limits, flags="--disable-auto-complete-config") as local:
            for model in reversed(range(models)):
                _say(f"model {model} for the first time")
                _refuse(asyncio.run(send_at(local.url, targets, payloads, [0.0], [model])).failed)
            settle = _MINUTE + _MINUTE - time.time() % _MINUTE
            times, indices = arrivals(traffic.rates.tolist(), settle + _MINUTE * minutes, SEED)
            start = time.time() + settle
            _say(f"{len(times)} requests")
            outcome = asyncio.run(send_at(local.url, targets, payloads, times, indices))
            _refuse(outcome.failed)
            measured = _measured(local, round(start), minutes)
    host, requests = Host("here", cores, budget), Recorded(np.array(times), np.array(indices))
    simulated = simulate(workload([(profile, 1.0)], traffic, host), host, 1, requests)
    seconds = np.array(outcome.seconds)[requests.times >= settle]
    about = (
        f"{profile.form} {archive.name}: {models} models, on average {measured['LoadedModelCount'][0]:.1f} loaded, "
        f"{rate:g} requests/s for {minutes} min ({len(seconds)} requests), {outcome.not_ready} answers of 429"
    )
    return f"{about}\n\n{_table(simulated, settle, seconds, measured, budget)}"


def _table(
    simulated: Simulated, settle: float, seconds: Floats, measured: dict[str, tuple[float, float]], budget: int
) -> str:
    counted = simulated.times >= settle
    cold, answers = simulated.cold[counted], simulated.seconds[counted]
    memory = measured["MemoryUtilization"][0] * budget / 100
    rows = (
        ("cold requests, %", 100 * cold.mean(), 100 * (1 - measured["ModelCacheHit"][0])),
        ("loads", simulated.loads[counted].sum(), measured["ModelLoadingTime"][1]),
        ("mean of loaded models, ms", 1000 * answers[~cold].mean(), measured["ModelLatency"][0] / 1000),
        ("mean of all, ms", 1000 * answers.mean(), 1000 * seconds.mean()),
        ("p99 of all, ms", 1000 * np.quantile(answers, 0.99), 1000 * np.quantile(seconds, 0.99)),
        ("memory, MiB", simulated.prediction.memory_bytes / _MIB, memory / _MIB),
    )
    lines = (f"| {name} | {plan:.1f} | {run:.1f} |" for name, plan, run in rows)
    return "\n".join(("| | simulated | measured |", "|---|---|---|", *lines))


def _profiled(archive: Path) -> Profile:
    command = [sys.executable, "build.py", "profile", str(archive), "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT)
    return read_profile(Path(json.loads(done.stdout)["profiles"][0]["file"]))


def _each(archive: Path, names: list[str], folder: Path) -> Iterator[Path]:
    for path in clone(archive, names, folder):
        yield path
        path.unlink()


def _measured(local: LocalEndpoint, start: int, minutes: int) -> dict[str, tuple[float, float]]:
    """The mean of each metric, in CloudWatch's units, and the number of its values."""
    values = {}
    for name in _COUNTED:
        points = local.client("cloudwatch").get_metric_statistics(
            Namespace=METRICS[name].namespace,
            MetricName=name,
            Dimensions=[{"Name": "EndpointName", "Value": NAME}, {"Name": "VariantName", "Value": "AllTraffic"}],
            StartTime=datetime.fromtimestamp(start, UTC),
            EndTime=datetime.fromtimestamp(start + _MINUTE * minutes, UTC),
            Period=_MINUTE * minutes,
            Statistics=["Sum", "SampleCount"],
        )["Datapoints"]
        total, count = (sum(point[key] for point in points) for key in ("Sum", "SampleCount"))
        values[name] = (total / count if count else 0.0, count)
    return values


def _refuse(failed: list[str]) -> None:
    if failed:
        raise RuntimeError(f"{len(failed)} requests failed, such as {failed[0]}")


def _say(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path, help="of ensembles of the project")
    parser.add_argument("--models", type=int, default=40, help="clones of each (40)")
    parser.add_argument("--resident", type=int, default=8, help="of them, for which there is memory (8)")
    parser.add_argument("--rate", type=float, default=0.3, help="requests a second (0.3)")
    parser.add_argument("--minutes", type=int, default=5, help="that are measured (5)")
    options = parser.parse_args()
    for archive in options.archives:
        print(compare(archive.resolve(), options.models, options.resident, options.rate, options.minutes), flush=True)


if __name__ == "__main__":
    main()
