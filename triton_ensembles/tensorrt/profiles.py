"""Optimisation profiles: the shapes that a TensorRT plan is built for.

A recipe writes one as ``"1x8 64x32 64x256"``: least, best and largest size of the axes that vary, the batch first. The
same numbers hold for all inputs of the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton_ensembles.errors import EnsembleError

_SIZES = re.compile(r"[1-9]\d{0,8}(x[1-9]\d{0,8})*")


@dataclass(frozen=True)
class Profile:
    """Sizes of the varying axes."""

    minimum: tuple[int, ...]
    optimum: tuple[int, ...]
    maximum: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join("x".join(map(str, sizes)) for sizes in (self.minimum, self.optimum, self.maximum))


def read_profile(text: str) -> Profile:
    """Raises :class:`EnsembleError` for what is no profile: other than three, or not in ascending order."""
    words = text.split()
    sizes = [tuple(map(int, word.split("x"))) for word in words if _SIZES.fullmatch(word)]
    ascending = len(sizes) == len(words) == 3 and all(
        len(least) == len(best) == len(most) and all(a <= b <= c for a, b, c in zip(least, best, most, strict=True))
        for least, best, most in [sizes]
    )
    if not ascending:
        raise EnsembleError(
            f"{text!r} is no profile", cure='write least, best and largest sizes, the batch first: "1x8 64x32 64x256"'
        )
    return Profile(*sizes)


def profiles_of(options: Mapping[str, Any]) -> tuple[Profile, ...]:
    """The profiles among an artifact's options. Raises :class:`EnsembleError`."""
    return tuple(read_profile(str(text)) for text in options.get("profiles", ()))


def fill(dims: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    """An input's dims with -1 for axes that vary, with ``sizes`` in their places.

    Raises:
        EnsembleError: another number of axes varies.
    """
    if dims.count(-1) != len(sizes):
        raise EnsembleError(
            f"the profile has {len(sizes)} sizes, and {dims.count(-1)} axes of {list(dims)} vary",
            cure="give a size for the batch and for each axis that varies",
        )
    rest = iter(sizes)
    return tuple(next(rest) if size == -1 else size for size in dims)
