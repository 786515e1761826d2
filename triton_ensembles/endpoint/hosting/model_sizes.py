"""How much memory models take, from what they took before."""

from collections.abc import Sequence

from triton_ensembles.endpoint.hosting.model import Model

_MANY = 20
_NEARLY_ALL = 0.95


class ModelSizes:
    """The memory of the models of one instance, also of those that are no longer on its disk, in bytes."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    @property
    def count(self) -> int:
        """How many models have been loaded so far."""
        return len(self._taken)

    @property
    def alike(self) -> bool:
        """Whether what has been loaded so far is a good guess for what has not."""
        return are_alike(sorted(self._taken.values()))

    def known(self, model: Model) -> bool:
        """Whether this model has been loaded before."""
        return model.hash in self._taken

    def expected(self, model: Model) -> int:
        """What the model will take: as much as before, otherwise as much as the largest so far, or as on its disk."""
        return self._taken.get(model.hash) or max(model.disk_bytes, *self._taken.values(), 0)

    def note_load(self, model: Model, taken: int) -> None:
        """What it has taken when it was loaded."""
        self._taken[model.hash] = model.load_bytes = taken

    def note_growth(self, model: Model, taken: int) -> None:
        """What a loaded model takes now: requests make it grow, which its next load has to reckon with."""
        model.load_bytes = taken
        self._taken[model.hash] = max(taken, self._taken.get(model.hash, 0))


def are_alike(sizes: Sequence[float]) -> bool:
    """Whether nearly all of many models take about as much. The first may be an exception: it makes the server load its
    backend.

    Args:
        sizes: ascending.
    """
    return len(sizes) >= _MANY and sizes[int(_NEARLY_ALL * len(sizes))] <= 2 * sizes[len(sizes) // 2]
