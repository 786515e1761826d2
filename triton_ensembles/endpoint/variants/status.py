"""The state of a variant at one moment, as frozen copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from triton_ensembles.hosting.status import InstanceStatus

_OTHERS = 100  # names that are kept of one error


@dataclass(frozen=True)
class RecentError:
    """An error or a warning, and how to fix it."""

    time: datetime
    instance: int
    target_model: str
    text: str
    cure: str = ""
    times: int = 1  # how often it came; everything else is the last one's
    others: tuple[str, ...] = ()  # the target models that it came for before, the last one first

    @property
    def kind(self) -> tuple[int, str, str]:
        """Errors of one kind differ only in the model that they are about."""
        text = self.text.replace(self.target_model, "") if self.target_model else self.text
        return self.instance, text, self.cure

    def after(self, earlier: RecentError) -> RecentError:
        """The error, counted together with an earlier one of its kind."""
        models = [name for name in (earlier.target_model, *earlier.others) if name != self.target_model]
        return replace(self, times=earlier.times + 1, others=tuple(models[:_OTHERS]))


@dataclass(frozen=True)
class VariantStatus:
    """A production variant, its instances, its recent errors (newest first), and the Python that runs its steps."""

    instances: tuple[InstanceStatus, ...]
    errors: tuple[RecentError, ...]
    invocations: int
    python: str
