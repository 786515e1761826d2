"""A run of perf_analyzer, and the measurements in the CSV file that it writes."""

import csv
import os
import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import SETUP
from triton_ensembles.ground.programs import ProgramError, output_of
from triton_ensembles.server.home import TritonHome

_TIMES = ("p50 latency", "p90 latency", "p95 latency", "p99 latency", "Avg latency", "Client Send", "Client Recv")
_THREAD_ERROR = "] had error: "
_NO_ANSWER = "no request was answered within a measurement window; allow more time with --seconds"


class NoAnswerError(EnsembleError):
    """No request was answered within a measurement window."""


@dataclass(frozen=True)
class ClientTimes:
    """The measurements of a client under one load. Latencies are in milliseconds, from sending a request to its answer.

    Args:
        concurrency: the number of concurrent requests; 0 for requests at a fixed rate.
        throughput: inferences (rows, not requests) per second.
        p50_ms, p90_ms, p95_ms, p99_ms: percentiles of the latency.
        avg_ms: the mean latency.
        send_ms: the mean time of writing a request (gRPC: marshaling it), part of the latency.
        recv_ms: the mean time of reading an answer (gRPC: unmarshaling it), part of the latency.
    """

    concurrency: int
    throughput: float
    p50_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    avg_ms: float
    send_ms: float
    recv_ms: float

    def __str__(self) -> str:
        latency = f"p50 {self.p50_ms:.1f} ms, p99 {self.p99_ms:.1f} ms"
        return f"{self.throughput:.1f} inferences/s, {latency} at concurrency {self.concurrency}"


def median_times(measured: Sequence[ClientTimes]) -> ClientTimes:
    """The medians of several measurements at one concurrency."""
    _, *columns = zip(*map(astuple, measured), strict=True)
    return ClientTimes(measured[0].concurrency, *map(median, columns))


def run_analyzer(home: TritonHome, arguments: Sequence[str], folder: Path, limit_seconds: float) -> None:
    """Run perf_analyzer in ``folder`` until it ends. Besides the CSV file of ``-f`` it writes one for every step.

    Raises:
        NoAnswerError: no request was answered within a measurement window.
        EnsembleError: it is missing, did not end within ``limit_seconds``, or failed (its reason, in one line).
    """
    if not home.perf_analyzer.is_file():
        raise EnsembleError("perf_analyzer is missing", path=home.perf_analyzer, cure=f"run: {SETUP}")
    libraries = os.pathsep.join(os.fspath(path) for path in (home.perf_libraries, home.libraries))
    settings = os.environ | {"LD_LIBRARY_PATH": libraries}
    try:
        output_of([home.perf_analyzer, *arguments], environment=settings, cwd=folder, seconds=limit_seconds)
    except subprocess.TimeoutExpired:
        raise EnsembleError(f"perf_analyzer did not end within {limit_seconds:.0f} s") from None
    except ProgramError as error:
        why = reason(error.errors) or f"exit code {error.code}"
        raise (NoAnswerError if why == _NO_ANSWER else EnsembleError)(f"perf_analyzer failed: {why}") from None


def reason(messages: str) -> str:
    """Why perf_analyzer failed, according to its stderr, as one line: preferably a worker's error."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    for line in lines:
        if _THREAD_ERROR in line:
            return line.split(_THREAD_ERROR, 1)[1]
    # The second: any spread is accepted as stable, so that one of the windows was without an answer.
    if any(line.startswith(("No valid requests recorded", "Failed to obtain stable measurement")) for line in lines):
        return _NO_ANSWER
    errors = [line for line in lines if not line.startswith("WARNING: ")]  # it warns of a window with a single answer
    return errors[0].removeprefix("error: ") if errors else ""


def read_csv(path: Path) -> ClientTimes:
    """The one row of a CSV file that perf_analyzer wrote with ``-f`` and ``--verbose-csv`` (times in microseconds).

    Its columns about the server are not used: for an ensemble they are sums over the steps, except for the queue, which
    is that of the ensemble itself and always near 0; the time in the steps' queues is counted as network.
    """
    with path.open(newline="", encoding="utf-8") as stream:
        (row,) = csv.DictReader(stream)
    times = [float(row[column]) / 1000 for column in _TIMES]
    concurrency = 0 if "Request Rate" in row else int(row["Concurrency"])
    return ClientTimes(concurrency, float(row["Inferences/Second"]), *times)
