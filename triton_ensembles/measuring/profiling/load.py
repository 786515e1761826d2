"""The load under which a profile is measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from triton_ensembles.measuring.perf.inputs import UserInputs


@dataclass(frozen=True)
class Load:
    """The copies and the requests of a profile.

    Attributes:
        copies: numbers of loaded copies at which memory is read; 1 is always one of them.
        concurrencies: requests under way.
        batches: rows in a request; those that the model does not take are left out.
        seconds: of a measurement.
        user: what is sent instead of the examples.
    """

    copies: Sequence[int] = (1, 4, 16)
    concurrencies: Sequence[int] = (1, 2, 4, 8)
    batches: Sequence[int] = (1, 8)
    seconds: float = 2.0
    user: UserInputs = field(default_factory=UserInputs)
