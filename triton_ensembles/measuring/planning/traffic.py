"""Requests for many models: how often each is requested, and those to simulate, drawn or recorded."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.measuring.planning.demand import Floats


@dataclass(frozen=True, eq=False)
class Recorded:
    """Requests as they came: seconds since the first one, ascending, and the index of the model of each."""

    times: Floats
    models: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """Requests for many models.

    Attributes:
        rates: requests a second on average, by model.
        names: of the models; () where they have none.
        recorded: the requests themselves, if there are any.
        text: what it is, for people.
    """

    rates: Floats
    names: tuple[str, ...] = ()
    recorded: Recorded | None = None
    text: str = ""

    @property
    def rate(self) -> float:
        """Requests a second for all models."""
        return float(self.rates.sum())


def zipf(models: int, alpha: float, rate: float) -> Traffic:
    """The n-th most popular model is requested in proportion to n to the power of -alpha; with 0, all are alike.

    Args:
        rate: requests a second for all models.
    """
    weights = np.arange(1, models + 1, dtype=float) ** -alpha
    text = f"zipf:{alpha:g}" if alpha else "uniform"
    return Traffic(rate * weights / weights.sum(), text=f"{models} models, {text}, {rate:g} requests/s")


class Sample(NamedTuple):
    """Requests to simulate, which begin with ``factor`` times the traffic's average rate."""

    requests: Recorded
    factor: float

    def times(self, factor: float) -> "Sample":
        """Return the same requests in a shorter or longer time."""
        return Sample(Recorded(self.requests.times / factor, self.requests.models), self.factor * factor)


def sample(traffic: Traffic, requests: int) -> Sample:
    """Return the busiest time of the traffic with this many requests: of a recording, or drawn where there is none."""
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
