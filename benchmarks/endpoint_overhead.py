"""What the local endpoint adds to tritonserver: the same requests through both doors, in turns, in one run.

    python -m benchmarks.endpoint_overhead [--seconds 3] [--rounds 5] [--json FILE]

It starts an endpoint of its own, deploys the archives, and asks each model over the endpoint's InvokeEndpoint and over
the port of the tritonserver behind it (POST /models/<hash>/invoke). The client is the same for both: plain sockets,
kept open. Rounds alternate, so that what else the machine does hits both alike. Reported are, for one connection, the
medians and their difference; for 32 connections, the throughputs and their ratio.

``echo`` is a Python model that gives back its input: nearly all of its time is overhead. ``bert_trt`` is the project's
ensemble with one sentence and with eight, the other two ensembles get a photograph: what the overhead means for models
that do something. Signing, which boto3 does before it sends anything, is in neither.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.endpoint_fixture import archive_of, doors, echo_archive, running_endpoint
from benchmarks.http_load import Door, put_under_load

CONCURRENCY = 32
WARM_UP = 1.0  # seconds before each measurement that are not counted


@dataclass(frozen=True)
class Measured:
    """All the latencies (seconds) of one round, and its throughput (requests a second)."""

    latencies: list[float]
    throughput: float

    @property
    def p50_ms(self) -> float:
        return 1000 * statistics.median(self.latencies)


def load(door: Door, concurrency: int, seconds: float) -> Measured:
    latencies = put_under_load(door, concurrency, seconds, WARM_UP).latencies
    return Measured(latencies, len(latencies) / seconds)


def compare(name: str, direct: Door, endpoint: Door, rounds: int, seconds: float) -> dict[str, Any]:
    """One row of the report: times in milliseconds, throughputs in requests a second.

    Difference and ratio are medians over the rounds, each round compared with its neighbour in time: on a shared
    machine the speed of both doors drifts together.
    """
    row: dict[str, Any] = {
        "model": name,
        "body_bytes": len(endpoint.requests[0].partition(b"\r\n\r\n")[2]),
        "rounds": rounds,
        "seconds": seconds,
    }
    for concurrency in (1, CONCURRENCY):
        pairs = [_pair(direct, endpoint, concurrency, seconds, turn % 2 == 0) for turn in range(rounds)]
        for index, which in enumerate(("direct", "endpoint")):
            p50 = statistics.median(pair[index].p50_ms for pair in pairs)
            row[f"{which}_p50_ms_at_{concurrency}"] = round(p50, 3)
            throughput = statistics.median(pair[index].throughput for pair in pairs)
            row[f"{which}_per_second_at_{concurrency}"] = round(throughput, 1)
        overheads = sorted(behind.p50_ms - before.p50_ms for before, behind in pairs)
        ratios = sorted(behind.throughput / before.throughput for before, behind in pairs)
        row[f"overhead_p50_ms_at_{concurrency}"] = [round(each, 3) for each in _spread(overheads)]
        row[f"throughput_ratio_at_{concurrency}"] = [round(each, 3) for each in _spread(ratios)]
    return row


def _pair(
    direct: Door, endpoint: Door, concurrency: int, seconds: float, direct_first: bool
) -> tuple[Measured, Measured]:
    if direct_first:
        return load(direct, concurrency, seconds), load(endpoint, concurrency, seconds)
    behind = load(endpoint, concurrency, seconds)
    return load(direct, concurrency, seconds), behind


def _spread(values: list[float]) -> tuple[float, float, float]:
    """Least, median, most."""
    return values[0], statistics.median(values), values[-1]


def shown(row: dict[str, Any]) -> str:
    least, overhead, most = row["overhead_p50_ms_at_1"]
    worst, ratio, best = row["throughput_ratio_at_32"]
    return (
        f"{row['model']:22} 1 connection:   p50 {row['direct_p50_ms_at_1']:.3f} ms direct, "
        f"{row['endpoint_p50_ms_at_1']:.3f} ms endpoint; overhead {overhead:.3f} ms ({least:.3f} to {most:.3f})\n"
        f"{'':22} {CONCURRENCY} connections: {row['direct_per_second_at_32']:.0f}/s direct, "
        f"{row['endpoint_per_second_at_32']:.0f}/s endpoint; ratio {ratio:.2f} ({worst:.2f} to {best:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each round, after a second of warm-up")
    parser.add_argument("--rounds", type=int, default=5, help="of each door, at each concurrency")
    parser.add_argument("--json", type=Path, help="write the rows here")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="endpoint-overhead-")))
        ensembles = ("bert_trt", "dali_inception", "resnet_pytorch")
        archives = [echo_archive(folder), *map(archive_of, ensembles)]
        endpoint = stack.enter_context(running_endpoint(folder, archives))
        rows = []
        for name, direct, through in doors(endpoint):
            rows.append(compare(name, direct, through, arguments.rounds, arguments.seconds))
            sys.stdout.write(shown(rows[-1]) + "\n")
            sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
