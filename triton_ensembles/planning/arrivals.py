"""Requests for the simulation: drawn from the traffic's rates, or those of a recording."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triton_ensembles.planning.traffic import Recorded, Traffic

HOUR = 3600.0


class Phase(NamedTuple):
    """So many seconds at so many times the traffic's average rate."""

    seconds: float
    factor: float


def drawn(traffic: Traffic, requests: int, phases: Sequence[Phase] = (), seed: int = 0) -> Recorded:
    """So many Poisson arrivals; the last phase goes on to the end.

    Args:
        phases: of the rate, one after the other; () for the average all the time.
    """
    random = np.random.default_rng(seed)
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
    """The phases of a day from the hour from which so many requests are the most that it has; the day goes round."""
    hours = len(day)
    length = min(hours, max(1, int(np.ceil(requests / (rate * HOUR)))))
    sums = [sum(day[(first + hour) % hours] for hour in range(length)) for first in range(hours)]
    first = int(np.argmax(sums))
    return tuple(Phase(HOUR, day[(first + hour) % hours]) for hour in range(hours))
