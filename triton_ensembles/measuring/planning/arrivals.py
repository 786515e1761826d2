"""Requests for the simulation: drawn from the traffic's rates, or those of a recording."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triton_ensembles.measuring.planning.traffic import Recorded, Traffic

HOUR = 3600.0


class Phase(NamedTuple):
    """A time of ``seconds`` with ``factor`` times the traffic's average rate."""

    seconds: float
    factor: float


class Sample(NamedTuple):
    """Requests to simulate, which begin with ``factor`` times the traffic's average rate."""

    requests: Recorded
    factor: float

    def times(self, factor: float) -> "Sample":
        """The same requests in a shorter or longer time."""
        return Sample(Recorded(self.requests.times / factor, self.requests.models), self.factor * factor)


def sample(traffic: Traffic, requests: int) -> Sample:
    """The busiest time of the traffic that has this many requests: of a recording, or drawn where there is none."""
    if traffic.recorded is None:
        phases = busiest_hours(traffic.day, traffic.rate, requests) if traffic.day else ()
        return Sample(drawn(traffic, requests, phases), phases[0].factor if phases else 1.0)
    times, models = traffic.recorded.times, traffic.recorded.models
    count = min(requests, len(times))
    spans = times[count - 1 :] - times[: len(times) - count + 1]
    first = int(np.argmin(spans))
    part = slice(first, first + count)
    factor = (count - 1) / max(float(spans[first]), 1e-9) / traffic.rate if count < len(times) else 1.0
    return Sample(Recorded(times[part] - times[first], models[part]), factor)


def drawn(traffic: Traffic, requests: int, phases: Sequence[Phase] = ()) -> Recorded:
    """Poisson arrivals, ``requests`` of them; the last phase continues to the end.

    Args:
        phases: of the rate, one after the other; () for the average all the time.
    """
    random = np.random.default_rng(0)
    steps = random.exponential(1.0, requests).cumsum()  # in units of expected requests
    rate = traffic.rate
    ends, counts = [0.0], [0.0]
    for phase in phases:
        ends.append(ends[-1] + phase.seconds)
        counts.append(counts[-1] + phase.seconds * phase.factor * rate)
    last = (phases[-1].factor if phases else 1.0) * rate
    beyond = max(0.0, float(steps[-1]) - counts[-1]) if len(steps) else 0.0
    if last > 0:
        ends.append(ends[-1] + beyond / last + 1.0)
        counts.append(counts[-1] + beyond + last)
    times = np.interp(steps, counts, ends)
    places = np.cumsum(traffic.rates) / rate
    models = np.minimum(np.searchsorted(places, random.random(requests), side="right"), len(places) - 1)
    return Recorded(times, models.astype(np.int64))


def busiest_hours(day: Sequence[float], rate: float, requests: int) -> tuple[Phase, ...]:
    """The busiest stretch of the day that holds this many requests, and the hours after it; it may wrap past
    midnight."""
    hours = len(day)
    length = min(hours, max(1, int(np.ceil(requests / (rate * HOUR)))))
    sums = [sum(day[(first + hour) % hours] for hour in range(length)) for first in range(hours)]
    first = int(np.argmax(sums))
    return tuple(Phase(HOUR, day[(first + hour) % hours]) for hour in range(hours))
