"""The state of a variant at one moment, as frozen copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from triton_ensembles.endpoint.hosting.model import Model

_OTHERS = 100  # names that are kept of one error


@dataclass(frozen=True)
class InstanceStatus:
    """One instance: one tritonserver with its models."""

    index: int
    ready: bool
    pid: int | None
    restarts: int
    in_flight: int
    not_ready: int  # requests that were answered with 429, since their model was not loaded in time
    memory_bytes: int  # proportional set size of the server and its Python processes
    disk_bytes: int  # of models and of environments
    environment_bytes: int  # of environments that the server has unpacked into /tmp
    metrics_url: str | None  # of Triton's metrics, as ServerProcess has it; None when the container publishes none
    models: tuple[Model, ...]  # copies, the most recently used first


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
