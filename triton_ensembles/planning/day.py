"""The course of a day, hour by hour: each hour is taken to be a steady state of its own."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import read_text
from triton_ensembles.planning.closed_form import closed_form
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.latency import Mixture
from triton_ensembles.planning.prediction import Prediction
from triton_ensembles.planning.workload import Workload

_HOURS = 24
_LONGEST = 1 << 16  # bytes of a file


def read_day(text: str) -> tuple[float, ...]:
    """Of 24 hours, how many times the average is asked.

    Args:
        text: 24 numbers in proportion to the requests of each hour, with commas or spaces between them; or a file of
            them.

    Raises:
        EnsembleError: they are not 24 numbers of which one is above 0.
    """
    path = None
    if "," not in text and Path(text).exists():
        path = Path(text)
        text = read_text(path, _LONGEST)
    words = text.replace(",", " ").split()
    cure = "give 24 numbers in proportion to the requests of each hour, from midnight"
    if len(words) != _HOURS:
        raise EnsembleError(f"a day's curve has {_HOURS} numbers, and this has {len(words)}", path=path, cure=cure)
    numbers = []
    for word in words:
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            raise EnsembleError(f"'{word}' is not a share of a day's requests", path=path, cure=cure)
        numbers.append(number)
    total = sum(numbers)
    if total <= 0:
        raise EnsembleError("nobody asks at any hour of this day", path=path, cure=cure)
    return tuple(number * _HOURS / total for number in numbers)


def over_the_day(work: Workload, host: Host, count: int, day: Sequence[float]) -> tuple[Prediction, Prediction]:
    """The whole day in closed form, and its busiest hour."""
    if not day:
        found = closed_form(work, host, count)
        return found, found
    mixture = Mixture()
    hours: list[tuple[float, Prediction]] = []
    for factor, times in sorted(Counter(day).items()):
        if factor > 0:
            part = Mixture()
            scaled = Workload(work.rates * factor, work.archives, work.demands)
            found = closed_form(scaled, host, count, part)
            mixture.add(part, times)
            hours.append((times, found))
    peak = hours[-1][1]
    requests = sum(times * each.requests_per_second for times, each in hours)

    def of_requests(field: str) -> float:
        return float(sum(times * each.requests_per_second * getattr(each, field) for times, each in hours) / requests)

    def of_time(field: str) -> float:
        return sum(float(times * getattr(each, field)) for times, each in hours) / _HOURS

    overload = next((each.overload for _, each in reversed(hours) if each.overload), "")
    whole = replace(
        peak,
        requests_per_second=requests / _HOURS,
        cold=of_requests("cold"),
        loads=of_requests("loads"),
        fetches=of_requests("fetches"),
        loads_per_second=of_time("loads_per_second"),
        resident=of_time("resident"),
        memory_bytes=of_time("memory_bytes"),
        cores=of_time("cores"),
        warm=None if overload else mixture.warm(),
        every=None if overload else mixture.every(),
        overload=overload,
    )
    return whole, peak
