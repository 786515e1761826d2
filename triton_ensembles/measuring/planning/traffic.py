"""Requests for many models: how often each is requested."""

from dataclasses import dataclass

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
