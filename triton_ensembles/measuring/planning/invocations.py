"""Requests as they came: a CSV of time and model, as clients log them.

AWS keeps no such log: CloudWatch has no metric by model, and CloudTrail does not record InvokeEndpoint. Whoever calls
InvokeEndpoint has to write it.
"""

from array import array
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.tables import csv_rows
from triton_ensembles.measuring.planning.traffic import Recorded, Traffic

TIMES = ("time", "timestamp", "@timestamp")
MODELS = ("model", "target_model", "TargetModel")

_LEAST = 10  # requests
_MILLISECONDS = 1e11  # seconds since 1970 are far fewer


def read_invocations(path: Path) -> Traffic:
    """The traffic of a file.

    Args:
        path: a CSV with the columns ``time`` and ``model``, or of such names (TIMES, MODELS); times in ISO 8601 or in
            seconds, in any order.

    Raises:
        EnsembleError: with the line that has no time or no model.
    """
    seconds, indices, known = array("d"), array("q"), dict[str, int]()
    for time, name in _rows(path):
        seconds.append(time)
        indices.append(known.setdefault(name, len(known)))
    if len(indices) < _LEAST:
        message = f"it has {len(indices)} requests, from which no rate follows"
        raise EnsembleError(message, path=path, cure="give a longer log")
    sequence = np.argsort(np.array(seconds), kind="stable")
    times = np.array(seconds)[sequence]
    times -= times[0]
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
        text=f"{len(names)} models, {len(indices)} requests of {path.name} in {duration(span)}",
    )


def _rows(path: Path) -> Iterator[tuple[float, str]]:
    rows = csv_rows(path)
    line, header = next(rows, (1, []))
    columns = [next((header.index(name) for name in names if name in header), -1) for names in (TIMES, MODELS)]
    if min(columns) < 0:
        message = "its first line does not name the columns time and model"
        raise EnsembleError(message, path=path, line=line, cure="write time,model above the values")
    for line, cells in rows:
        time, model = (cells[column] if column < len(cells) else "" for column in columns)
        yield _row(path, line, time, model)


def _row(path: Path, line: int, time: str, model: str) -> tuple[float, str]:
    seconds, otherwise = _seconds(time), "or leave out the line if there was no request"
    if seconds is None:
        fault = f"'{time[:60]}' is not a time" if time else "it has no time"
        cure = f"write ISO 8601 or seconds, {otherwise}"
    elif seconds > _MILLISECONDS:
        fault, cure = f"'{time}' is too late for seconds", "divide milliseconds by 1000"
    elif not model.strip():
        fault, cure = "it has no model", f"write the TargetModel, {otherwise}"
    else:
        return seconds, model.strip()
    raise EnsembleError(fault, path=path, line=line, cure=cure)


def _seconds(time: str) -> float | None:
    """Since 1970, or since whatever the file counts from; None if it is no time."""
    try:
        number = float(time)
        return number if np.isfinite(number) and number >= 0 else None
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(time)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def duration(seconds: float) -> str:
    """The time as text, such as 2.5 hours."""
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
