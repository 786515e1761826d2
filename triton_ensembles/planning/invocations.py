"""Requests as they came: a CSV of time and model, or JSON lines, as clients log them.

AWS keeps no such log: CloudWatch has no metric by model, and CloudTrail does not record InvokeEndpoint. Whoever calls
InvokeEndpoint has to write it.
"""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import read_text
from triton_ensembles.planning.traffic import Recorded, Traffic

TIMES = ("time", "timestamp", "@timestamp")
MODELS = ("model", "target_model", "TargetModel")

_LONGEST = 1 << 30  # bytes of a file
_LEAST = 10  # requests
_GAP_SHARE = 0.05  # of the time: a pause that long may be a hole
_GAP_REQUESTS = 50  # that would have come in it
_MILLISECONDS = 1e11  # seconds since 1970 are far fewer


def read_invocations(path: Path, *, allow_gaps: bool = False) -> Traffic:
    """The traffic of a file.

    Args:
        path: a CSV with the columns ``time`` and ``model``, or one JSON object a line with such keys (TIMES, MODELS);
            times in ISO 8601 or in seconds, in any order.
        allow_gaps: a long time without any request is what it was, not a hole in the file.

    Raises:
        EnsembleError: with the line that has no time or no model, or with the gap.
    """
    lines = read_text(path, _LONGEST).splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    rows = list(_json_rows(path, lines) if first.startswith("{") else _csv_rows(path, lines))
    if len(rows) < _LEAST:
        raise EnsembleError(
            f"it has {len(rows)} requests, from which no rate follows", path=path, cure="give a longer log"
        )
    rows.sort(key=lambda row: row[0])
    times = np.array([time for time, _ in rows])
    times -= times[0]
    span = float(times[-1])
    if span <= 0:
        raise EnsembleError("all its requests have the same time", path=path, cure="log times with their seconds")
    if not allow_gaps:
        _refuse_gaps(path, times, rows[0][0])
    names, places = np.unique(np.array([name for _, name in rows]), return_inverse=True)
    counts = np.bincount(places, minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    rates = counts[order] / (span * len(rows) / (len(rows) - 1))
    text = f"{len(names)} models, {len(rows)} requests of {path.name} in {_duration(span)}"
    return Traffic(
        rates, tuple(str(names[each]) for each in order), recorded=Recorded(times, position[places]), text=text
    )


def _csv_rows(path: Path, lines: list[str]) -> Iterator[tuple[float, str]]:
    numbers = [number for number, line in enumerate(lines, 1) if line.strip()]
    table = csv.reader(lines[number - 1] for number in numbers)
    header = [word.strip().lstrip("\ufeff") for word in next(table, [])]
    columns = [next((header.index(name) for name in names if name in header), -1) for names in (TIMES, MODELS)]
    if min(columns) < 0:
        raise EnsembleError(
            "its first line does not name the columns time and model",
            path=path,
            line=numbers[0] if numbers else 1,
            cure="write time,model above the values",
        )
    for number, row in zip(numbers[1:], table, strict=False):
        time, model = (row[column].strip() if column < len(row) else "" for column in columns)
        yield _row(path, number, time, model)


def _json_rows(path: Path, lines: list[str]) -> Iterator[tuple[float, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise EnsembleError("it is not a JSON object", path=path, line=number, cure="write one object a line")
        time, model = (next((value[key] for key in keys if key in value), "") for keys in (TIMES, MODELS))
        yield _row(path, number, time, model if isinstance(model, str) else "")


def _row(path: Path, line: int, time: object, model: str) -> tuple[float, str]:
    seconds = _seconds(time)
    if seconds is None:
        what = f"'{time}' is not a time" if time not in ("", None) else "it has no time"
        raise EnsembleError(
            what, path=path, line=line, cure="write ISO 8601 or seconds, or leave the line out if nobody asked"
        )
    if seconds > _MILLISECONDS:
        raise EnsembleError(
            f"'{time}' is too late for seconds", path=path, line=line, cure="divide milliseconds by 1000"
        )
    if not model.strip():
        raise EnsembleError(
            "it has no model", path=path, line=line, cure="write the TargetModel, or leave the line out if nobody asked"
        )
    return seconds, model.strip()


def _seconds(time: object) -> float | None:
    """Since 1970, or since whatever the file counts from; None if it is no time."""
    try:
        number = float(time)  # type: ignore[arg-type]
        return number if not isinstance(time, bool) and np.isfinite(number) and number >= 0 else None
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        found = datetime.fromisoformat(str(time))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _refuse_gaps(path: Path, times: np.ndarray[tuple[int], np.dtype[np.float64]], start: float) -> None:
    pauses = np.diff(times)
    longest = int(np.argmax(pauses))
    gap, span = float(pauses[longest]), float(times[-1])
    if gap < _GAP_SHARE * span or gap * (len(times) - 1) / max(span - gap, 1e-9) < _GAP_REQUESTS:
        return
    place = f"{times[longest]:.0f} s after the first request"
    if start > 1e8:
        place = f"after {datetime.fromtimestamp(start + float(times[longest]), UTC):%Y-%m-%d %H:%M:%S} UTC"
    raise EnsembleError(
        f"it has a hole: no request for {_duration(gap)}, {place}",
        path=path,
        cure="give a log without holes, or --allow-gaps if nobody asked then",
    )


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
