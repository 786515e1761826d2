"""Requests as they came: a CSV of time and model, or JSON lines, as clients log them.

AWS keeps no such log: CloudWatch has no metric by model, and CloudTrail does not record InvokeEndpoint. Whoever calls
InvokeEndpoint has to write it.
"""

import json
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.tables import csv_rows, lines_of
from triton_ensembles.measuring.planning.demand import Floats
from triton_ensembles.measuring.planning.traffic import Recorded, Traffic

TIMES = ("time", "timestamp", "@timestamp")
MODELS = ("model", "target_model", "TargetModel")

_LEAST = 10  # requests
_GAP_SHARE = 0.05  # of the time: a pause that long may be a hole
_GAP_REQUESTS = 50  # that would have come in it
_MILLISECONDS = 1e11  # seconds since 1970 are far fewer


def read_invocations(path: Path) -> Traffic:
    """The traffic of a file.

    Args:
        path: a CSV with the columns ``time`` and ``model``, or one JSON object a line with such keys (TIMES, MODELS);
            times in ISO 8601 or in seconds, in any order.

    Raises:
        EnsembleError: with the line that has no time or no model.
    """
    is_json = next(filter(str.strip, lines_of(path)), "").lstrip().startswith("{")
    seconds, indices, known = array("d"), array("q"), dict[str, int]()
    for time, name in (_json_rows if is_json else _csv_rows)(path):
        seconds.append(time)
        indices.append(known.setdefault(name, len(known)))
    if len(indices) < _LEAST:
        message = f"it has {len(indices)} requests, from which no rate follows"
        raise EnsembleError(message, path=path, cure="give a longer log")
    sequence = np.argsort(np.array(seconds), kind="stable")
    times = np.array(seconds)[sequence]
    start = float(times[0])
    times -= start
    span = float(times[-1])
    if span <= 0:
        raise EnsembleError("all its requests have the same time", path=path, cure="log times with their seconds")
    names, counts = list(known), np.bincount(np.array(indices))
    order = np.array(sorted(known.values(), key=lambda index: (-counts[index], names[index])))
    rates = counts[order] / (span * len(indices) / (len(indices) - 1))
    return Traffic(
        rates,
        tuple(names[index] for index in order),
        recorded=Recorded(times, np.argsort(order)[np.array(indices)[sequence]]),
        text=f"{len(names)} models, {len(indices)} requests of {path.name} in {duration(span)}{_gap(times, start)}",
    )


def _csv_rows(path: Path) -> Iterator[tuple[float, str]]:
    rows = csv_rows(path)
    line, header = next(rows, (1, []))
    columns = [next((header.index(name) for name in names if name in header), -1) for names in (TIMES, MODELS)]
    if min(columns) < 0:
        message = "its first line does not name the columns time and model"
        raise EnsembleError(message, path=path, line=line, cure="write time,model above the values")
    for line, cells in rows:
        time, model = (cells[column] if column < len(cells) else "" for column in columns)
        yield _row(path, line, time, model)


def _json_rows(path: Path) -> Iterator[tuple[float, str]]:
    for number, line in enumerate(lines_of(path), 1):
        if line.isspace():
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
    seconds, otherwise = _seconds(time), "or leave out the line if there was no request"
    if seconds is None:
        fault = f"'{str(time)[:60]}' is not a time" if time not in ("", None) else "it has no time"
        cure = f"write ISO 8601 or seconds, {otherwise}"
    elif seconds > _MILLISECONDS:
        fault, cure = f"'{time}' is too late for seconds", "divide milliseconds by 1000"
    elif not model.strip():
        fault, cure = "it has no model", f"write the TargetModel, {otherwise}"
    else:
        return seconds, model.strip()
    raise EnsembleError(fault, path=path, line=line, cure=cure)


def _seconds(time: object) -> float | None:
    """Since 1970, or since whatever the file counts from; None if it is no time."""
    try:
        number = float(time)  # type: ignore[arg-type]
        return number if not isinstance(time, bool) and np.isfinite(number) and number >= 0 else None
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(str(time))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _gap(times: Floats, start: float) -> str:
    """The longest time without requests, if it is too long for chance: the file may have a hole."""
    pauses = np.diff(times)
    longest = int(np.argmax(pauses))
    gap, span = float(pauses[longest]), float(times[-1])
    if gap < _GAP_SHARE * span or gap * (len(times) - 1) / max(span - gap, 1e-9) < _GAP_REQUESTS:
        return ""
    place = f"{times[longest]:.0f} s after the first request"
    if start > 1e8:
        place = f"after {datetime.fromtimestamp(start + float(times[longest]), UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"; no request for {duration(gap)}, {place}, which is taken as idle time"


def duration(seconds: float) -> str:
    """The time as text, such as 2.5 hours."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
