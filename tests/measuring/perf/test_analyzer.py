"""The CSV files and error messages of perf_analyzer are read correctly."""

from pathlib import Path

import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.perf.analyzer import ClientTimes, read_csv, reason, run_analyzer
from triton_ensembles.server.home import TritonHome

# Written by perf_analyzer (wheel tritonclient 2.50.0) -m bert_trt -i grpc --concurrency-range 32 --verbose-csv.
REAL = """\
Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,\
Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,\
Avg latency,request/response,response wait
32,63.8941,6,139972,2,258,17981,1384,3,186725,200222,201563,209466,159609,9,159565
"""

# What it wrote to stderr when an ensemble refused what it was sent.
REFUSED = """\
Failed to maintain requested inference load. Worker thread(s) failed to generate concurrent requests.
Thread [0] had error: in ensemble 'dali_inception', row 0 of DALI_INPUT_0: not an image

Thread [1] had error: in ensemble 'dali_inception', row 0 of DALI_INPUT_0: not an image


"""


def test_a_real_csv_file_is_read(tmp_path: Path) -> None:
    """Otherwise a report has numbers of the wrong column, or microseconds labeled as milliseconds."""
    path = tmp_path / "point.csv"
    path.write_text(REAL)
    assert read_csv(path) == ClientTimes(32, 63.8941, 186.725, 200.222, 201.563, 209.466, 159.609, 0.006, 0.003)
    path.write_text(REAL.replace("Concurrency", "Request Rate").replace("32,", "2.000000,", 1))  # of a fixed rate
    assert (read_csv(path).concurrency, read_csv(path).p50_ms) == (0, 186.725)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (REFUSED, "in ensemble 'dali_inception', row 0 of DALI_INPUT_0: not an image"),
        (
            "error: failed to get model metadata: Request for unknown model: 'nomodel' is not found\n\n",
            "failed to get model metadata: Request for unknown model: 'nomodel' is not found",
        ),
        (
            "No valid requests recorded within time interval. Please use a larger time window.\n",
            "no request was answered within a measurement window; allow more time with --seconds",
        ),
        ("WARNING: Pass contained only one request, so sample latency ...\nerror: no\n", "no"),
        ("", ""),
    ],
)
def test_the_reason_of_a_failure_is_found(messages: str, expected: str) -> None:
    """Otherwise users see that load could not be maintained, and not why."""
    assert reason(messages) == expected


def test_a_missing_perf_analyzer_is_reported(tmp_path: Path) -> None:
    """Otherwise a missing program gives a traceback instead of the command that installs it."""
    with pytest.raises(EnsembleError, match="perf_analyzer is missing; run: make setup"):
        run_analyzer(TritonHome(tmp_path), [], tmp_path, 1)
