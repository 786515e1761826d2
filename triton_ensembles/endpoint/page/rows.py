"""The rows of the table of models."""

from collections.abc import Iterable
from dataclasses import dataclass

from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.status import InstanceStatus
from triton_ensembles.sagemaker.model_state import ModelState

CONDITIONS = ("broken", "queued", *(state.value for state in ModelState if state is not ModelState.WAITING))
FOLDED = 20  # rows of a variant


@dataclass(frozen=True)
class Row:
    """A model on one instance, in a condition of CONDITIONS."""

    variant: str
    instance: int
    model: Model
    condition: str

    @property
    def key(self) -> tuple[str, int, str]:
        return self.variant, self.instance, self.model.target_model


def rows_of(variant: str, instances: Iterable[InstanceStatus]) -> list[Row]:
    """Return the rows in their order: broken models, then those that were requested most, then by name."""
    rows = [Row(variant, instance.index, model, model.condition) for instance in instances for model in instance.models]
    return sorted(rows, key=_place)


def _place(row: Row) -> tuple[bool, int, str, int]:
    model = row.model
    return row.condition != "broken", -model.hits - model.misses, model.target_model, row.instance
