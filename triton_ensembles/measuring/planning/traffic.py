"""Requests for many models: how often each is requested, and the course of a day."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text
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
        day: of 24 hours, the factors of the average rate; () where all are alike.
        recorded: the requests themselves, if there are any.
        text: what it is, for people.
    """

    rates: Floats
    names: tuple[str, ...] = ()
    day: tuple[float, ...] = ()
    recorded: Recorded | None = None
    text: str = ""

    @property
    def rate(self) -> float:
        """Requests a second for all models."""
        return float(self.rates.sum())

    def over(self, day: tuple[float, ...]) -> "Traffic":
        """The same requests, with the course of a day."""
        return replace(self, day=day, text=f"{self.text} over a day" if day else self.text)


def zipf(models: int, alpha: float, rate: float) -> Traffic:
    """The n-th most popular model is requested in proportion to n to the power of -alpha; with 0, all are alike.

    Args:
        rate: requests a second for all models.
    """
    weights = np.arange(1, models + 1, dtype=float) ** -alpha
    text = f"zipf:{alpha:g}" if alpha else "uniform"
    return Traffic(rate * weights / weights.sum(), text=f"{models} models, {text}, {rate:g} requests/s")


_HOURS = 24
_LONGEST = 1 << 16  # bytes of a file


def read_day(text: str) -> tuple[float, ...]:
    """The factors of the average rate, hour by hour.

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
    try:
        numbers = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    total = sum(numbers)
    if len(numbers) != _HOURS or min(numbers) < 0 or not 0 < total < math.inf:
        message = f"a day's curve is {_HOURS} numbers, and this is {' '.join(text.split())[:80]!r}"
        cure = "give 24 in proportion to the requests of each hour, from midnight"
        raise EnsembleError(message, path=path, cure=cure)
    return tuple(number * _HOURS / total for number in numbers)
