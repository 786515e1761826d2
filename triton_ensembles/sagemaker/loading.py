"""The memory of models, and how loads and unloads overlap, without a clock or a container: ``admission.py`` uses it."""

from bisect import bisect_left, insort
from collections.abc import Hashable
from typing import Protocol

# Beside others, no load begins that would fill the budget to the last byte: models and the server grow with requests.
_KEPT_SHARE = 64
_LEAST_KEPT = 4 << 20  # bytes
_MANY = 20  # models, of which nearly all take about as much
_NEARLY_ALL = 0.95
_JOIN_SECONDS = 0.25  # for which others may begin after the first unload: hosting/call_order.py
_END_SECONDS = 1.0  # after which the last of them has ended, unless its model takes long


class Sized(Protocol):
    """A model, as far as its size is concerned; ``load_bytes`` is what it takes while it is loaded."""

    disk_bytes: int
    load_bytes: int

    @property
    def hash(self) -> Hashable: ...


class ModelSizes:
    """The memory of the models of one instance, also of those that are no longer on its disk, in bytes."""

    def __init__(self) -> None:
        self._taken: dict[Hashable, int] = {}
        self._ascending: list[int] = []

    @property
    def count(self) -> int:
        """The number of models that have been loaded so far."""
        return len(self._taken)

    @property
    def alike(self) -> bool:
        """Return whether nearly all of many models take about as much, so that what has been loaded so far is a good
        guess for what has not. The first may be an exception: it makes the server load its backend."""
        sizes = self._ascending
        return len(sizes) >= _MANY and sizes[int(_NEARLY_ALL * len(sizes))] <= 2 * sizes[len(sizes) // 2]

    @property
    def usual(self) -> int:
        """The bytes that nearly all models take at most."""
        return self._ascending[int(_NEARLY_ALL * (len(self._ascending) - 1))] if self._ascending else 0

    def known(self, model: Sized) -> bool:
        """Return whether this model has been loaded before."""
        return model.hash in self._taken

    def expected(self, model: Sized) -> int:
        """The bytes that the model will take: as before, otherwise as the largest so far, or as it has on the disk."""
        return self._taken.get(model.hash) or max(model.disk_bytes, *self._ascending[-1:], 0)

    def note_growth(self, model: Sized, taken: int) -> None:
        """Note the bytes that a loaded model takes now: requests make it grow, and its next load may be as large."""
        self.note_load(model, max(taken, self._taken.get(model.hash, 0)))
        model.load_bytes = taken

    def note_load(self, model: Sized, taken: int) -> None:
        """Note the bytes that it has taken when it was loaded."""
        model.load_bytes = taken
        before = self._taken.get(model.hash)
        if before == taken:
            return
        if before is not None:
            del self._ascending[bisect_left(self._ascending, before)]
        insort(self._ascending, taken)
        self._taken[model.hash] = taken


def kept_free(budget: int) -> int:
    """Bytes of the budget that loads leave free beside others."""
    return max(budget // _KEPT_SHARE, _LEAST_KEPT)


def most_loads(cores: int) -> int:
    """AWS: "a factor of the number of vCPUs". Each load blocks a thread of the container's front end."""
    return 2 * cores


class Unloads:
    """The overlap of unloads, by a clock that the caller reads: others may begin soon after the first."""

    def __init__(self) -> None:
        self.running = 0  # how many have begun and not ended
        self._joined_until = 0.0

    def pause(self, now: float) -> float:
        """Seconds that the next unload has to wait yet, unless all that run end before."""
        if not self.running or now < self._joined_until:
            return 0.0
        return self._joined_until + _END_SECONDS - now

    def begin(self, now: float) -> None:
        if not self.running or now >= self._joined_until:
            self._joined_until = now + _JOIN_SECONDS
        self.running += 1

    def end(self) -> None:
        self.running -= 1
