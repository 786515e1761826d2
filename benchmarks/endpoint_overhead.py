"""What the local endpoint adds to tritonserver: the same requests to both, alternately, in one run.

    python -m benchmarks.endpoint_overhead [--seconds 3] [--rounds 5]

It starts its own endpoint, deploys the archives of dist/cpu, and sends each model's request to InvokeEndpoint and to
the port of the tritonserver behind it (POST /models/<hash>/invoke). The client is the same for both: plain sockets that
stay open. Rounds alternate, so that what else the machine does affects both alike. Printed are, for one connection, the
median latencies and their difference; for 32 connections, the throughputs and their ratio. Differences and ratios are
medians over the rounds, with the lowest and the highest.

``echo`` is a Python model that returns its input: nearly all of its time is overhead. The ensembles show what the
overhead means for models that compute. Signing, which boto3 does before it sends anything, is in neither.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.endpoint_fixture import (
    archive_of,
    echo_archive,
    echo_payload,
    endpoint_target,
    running_endpoint,
    server_target,
)
from benchmarks.examples import photograph, sentences
from benchmarks.http_load import HttpTarget, request_each, run_load
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.errors import EnsembleError
from triton_ensembles.progress import Progress

CONNECTIONS = 32
WARM_UP = 1.0  # seconds before each measurement that do not count
Measured = tuple[float, float]  # median latency in ms, requests per second


def requests() -> list[tuple[str, str, Payload]]:
    """What is sent, in words; the ensemble; the request."""
    sentence = "A cat sleeps on the sofa."
    return [
        ("bert_trt, 1 sentence", "bert_trt", sentences([sentence])),
        ("bert_trt, 8 sentences", "bert_trt", sentences([sentence] * 8)),
        ("dali_inception, 1 JPEG", "dali_inception", photograph("dali_inception")),
        ("resnet_pytorch, 1 image", "resnet_pytorch", photograph("resnet_pytorch")),
    ]


def compare(ensembles: list[tuple[str, str, Payload]], rounds: int, seconds: float, progress: Progress) -> None:
    """Report two lines on ``echo`` and on each of ``ensembles``."""
    with tempfile.TemporaryDirectory(prefix="endpoint-overhead-") as folder:
        archives = [echo_archive(Path(folder)), *map(archive_of, dict.fromkeys(name for _, name, _ in ensembles))]
        with running_endpoint(Path(folder), archives) as local:
            for about, name, payload in [("echo", "echo", echo_payload()), *ensembles]:
                endpoint = endpoint_target(local, name, [payload])
                request_each(endpoint)  # loads the model
                server = server_target(local, name, [payload])
                pairs = {count: _pairs(server, endpoint, count, rounds, seconds) for count in (1, CONNECTIONS)}
                progress(_described(about, pairs))


def _pairs(
    server: HttpTarget, endpoint: HttpTarget, connections: int, rounds: int, seconds: float
) -> list[tuple[Measured, Measured]]:
    """(server, endpoint) of each round; every second round measures the endpoint first."""

    def measured(target: HttpTarget) -> Measured:
        latencies = run_load(target, connections, seconds, WARM_UP).latencies
        if not latencies:
            raise EnsembleError(f"no request was answered within {seconds:g} s", cure="measure longer, with --seconds")
        return 1000 * median(latencies), len(latencies) / seconds

    found = []
    for number in range(rounds):
        first, second = (server, endpoint) if number % 2 == 0 else (endpoint, server)
        pair = measured(first), measured(second)
        found.append(pair if first is server else (pair[1], pair[0]))
    return found


def _described(about: str, pairs: dict[int, list[tuple[Measured, Measured]]]) -> str:
    one, many = pairs[1], pairs[CONNECTIONS]
    overhead = _spread([behind[0] - direct[0] for direct, behind in one], 3)
    ratio = _spread([behind[1] / direct[1] for direct, behind in many], 2)
    p50 = [median(pair[side][0] for pair in one) for side in (0, 1)]
    throughput = [median(pair[side][1] for pair in many) for side in (0, 1)]
    return (
        f"{about:23} 1 connection:   p50 {p50[0]:.3f} ms direct, {p50[1]:.3f} ms endpoint; overhead {overhead} ms\n"
        f"{'':23} {CONNECTIONS} connections: {throughput[0]:.0f}/s direct, {throughput[1]:.0f}/s endpoint; "
        f"ratio {ratio}"
    )


def _spread(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement, after a second of warm-up (3)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured (5)")
    arguments = parser.parse_args()
    try:
        compare(requests(), arguments.rounds, arguments.seconds, lambda line: print(line, flush=True))
    except EnsembleError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
