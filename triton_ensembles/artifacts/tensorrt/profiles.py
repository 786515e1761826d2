"""Optimization profiles: the shapes that a TensorRT plan is built for.

A recipe writes ``"1x8 64x32 64x256"``: minimum, optimum and maximum of the axes that vary in any input, batch first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton_ensembles.ground.errors import EnsembleError

_SIZES = re.compile(r"[1-9]\d{0,8}(x[1-9]\d{0,8})*")


@dataclass(frozen=True)
class Profile:
    """Sizes of the axes that vary, the batch first."""

    minimum: tuple[int, ...]
    optimum: tuple[int, ...]
    maximum: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join("x".join(map(str, sizes)) for sizes in (self.minimum, self.optimum, self.maximum))


def read_profile(text: str) -> Profile:
    """Parse a profile. Raises :class:`EnsembleError` unless it has three sizes in ascending order."""
    words = text.split()
    sizes = [tuple(map(int, word.split("x"))) for word in words if _SIZES.fullmatch(word)]
    ascending = len(sizes) == len(words) == 3 and all(
        len(least) == len(best) == len(most) and all(a <= b <= c for a, b, c in zip(least, best, most, strict=True))
        for least, best, most in [sizes]
    )
    if not ascending:
        message = f"{text!r} is not a profile"
        raise EnsembleError(message, cure='write minimum, optimum and maximum, the batch first: "1x8 64x32 64x256"')
    return Profile(*sizes)


def profiles_of(options: Mapping[str, Any]) -> tuple[Profile, ...]:
    """The profiles in an artifact's options. Raises :class:`EnsembleError` when one is not valid."""
    return tuple(read_profile(str(text)) for text in options.get("profiles", ()))


def fill(dims: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """An input's ``dims`` with each -1 replaced by the next of ``sizes``. Raises :class:`EnsembleError`: the numbers of
    sizes and of axes that vary differ."""
    if dims.count(-1) != len(sizes):
        message = f"the profile has {len(sizes)} sizes, but {dims.count(-1)} axes of {list(dims)} vary"
        raise EnsembleError(message, cure="give a size for the batch and for each axis that varies")
    remaining = iter(sizes)
    return tuple(next(remaining) if size == -1 else size for size in dims)
