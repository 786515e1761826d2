"""Requests for the simulation: drawn from the traffic's rates, or those of a recording."""

from typing import NamedTuple

import numpy as np

from triton_ensembles.measuring.planning.traffic import Recorded, Traffic


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
        return Sample(drawn(traffic, requests), 1.0)
    times, models = traffic.recorded.times, traffic.recorded.models
    count = min(requests, len(times))
    spans = times[count - 1 :] - times[: len(times) - count + 1]
    first = int(np.argmin(spans))
    part = slice(first, first + count)
    factor = (count - 1) / max(float(spans[first]), 1e-9) / traffic.rate if count < len(times) else 1.0
    return Sample(Recorded(times[part] - times[first], models[part]), factor)


def drawn(traffic: Traffic, requests: int) -> Recorded:
    """Draw Poisson arrivals, ``requests`` of them."""
    random = np.random.default_rng(0)
    times = random.exponential(1.0, requests).cumsum() / traffic.rate
    places = np.cumsum(traffic.rates) / traffic.rate
    models = np.minimum(np.searchsorted(places, random.random(requests), side="right"), len(places) - 1)
    return Recorded(times, models.astype(np.int64))
