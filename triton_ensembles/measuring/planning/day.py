"""The course of a day: 24 hours in proportion to their requests."""

import math
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_text

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
        raise EnsembleError("no hour of this day has any requests", path=path, cure=cure)
    return tuple(number * _HOURS / total for number in numbers)
