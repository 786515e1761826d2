"""Traffic from files, and what is wrong with them."""

from pathlib import Path

import numpy as np
import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.invocations import read_invocations


def csv_of(rows: list[str], folder: Path, header: str = "time,model") -> Path:
    file = folder / "requests.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def rows(count: int = 100, step: float = 1.0, models: int = 3) -> list[str]:
    return [f"{number * step},m{number % models if number % 5 else 0}.tar.gz" for number in range(count)]


def test_a_csv_gives_rates_names_and_the_requests_themselves(tmp_path: Path) -> None:
    found = read_invocations(csv_of(rows(), tmp_path))
    assert found.names[0] == "m0.tar.gz"  # the most often asked first
    assert found.rate == pytest.approx(1.0, rel=0.02)
    assert found.recorded is not None
    assert len(found.recorded.times) == 100
    assert found.text == "3 models, 100 requests of requests.csv in 99 s"
    counts = np.bincount(found.recorded.models)
    assert (np.diff(counts) <= 0).all()


@pytest.mark.parametrize("header", ["time,model", "@timestamp,TargetModel", "timestamp,target_model"])
def test_lines_are_read_in_any_order_and_with_dates(tmp_path: Path, header: str) -> None:
    times = [f"2026-11-22T10:{number // 60:02}:{number % 60:02}Z" for number in range(200)]
    found = read_invocations(csv_of([f"{time},a.tar.gz" for time in reversed(times)], tmp_path, header))
    assert found.rate == pytest.approx(1.0, rel=0.02)
    assert found.names == ("a.tar.gz",)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("5.5,", r"requests\.csv:52: it has no model; write the TargetModel"),
        (",m1", r"requests\.csv:52: it has no time; write ISO 8601"),
        ("5.5", r"requests\.csv:52: it has no model"),
        ("nan,m1", r"requests\.csv:52: 'nan' is not a time"),
        ("-3,m1", r"'-3' is not a time"),
        ("yesterday,m1", r"'yesterday' is not a time"),
        ("1763800000000,m1", r"too late for seconds; divide milliseconds by 1000"),
    ],
)
def test_a_hole_in_a_line_is_refused_with_its_line(tmp_path: Path, broken: str, message: str) -> None:
    """Otherwise rates would be too low, and the plan would look right."""
    lines = rows()
    lines.insert(50, broken)
    with pytest.raises(EnsembleError, match=message):
        read_invocations(csv_of(lines, tmp_path))


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        ([], "time,model", "it has 0 requests, from which no rate follows"),
        (["1,a"] * 3, "time,model", "it has 3 requests"),
        (["1,a"] * 30, "time,model", "all its requests have the same time"),
        (["1,a"] * 30, "1,a", r"csv:1: its first line does not name the columns time and model"),
        (["1," + "a" * 200_000], "time,model", r"csv:2: this is not a CSV: field larger"),
        (["1,a", "", "9" * 100_000], "time,model", r"csv:4: it has no model|csv:4: '9{60}' is not a time"),
    ],
)
def test_a_file_that_is_no_log_is_refused(tmp_path: Path, lines: list[str], header: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        read_invocations(csv_of(lines, tmp_path, header))
