"""Reports of an instance: metrics, events, and recent errors for the status page."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.variants.status import RecentError
from triton_ensembles.ground.errors import EnsembleError, shortened

RECENT_ERRORS = 50  # kept of one variant


@dataclass(frozen=True)
class Report:
    """Reports for one instance. ``served`` says whether any instance of the variant has loaded a model."""

    endpoint: str
    variant: str
    instance: int
    metrics: Metrics
    events: RecentEvents
    errors: deque[RecentError]  # the variant's, newest first
    served: Callable[[str], bool]

    def metric(self, name: str, value: float, target_model: str = "") -> None:
        """Record a value of a metric of SageMaker's, in its unit; "" where it is not about one model."""
        self.metrics.record(name, value, self.endpoint, self.variant, target_model, str(self.instance))

    def gone(self, target_model: str) -> None:
        """The instance has unloaded the model, has not been able to load it, or is gone itself."""
        if not self.served(target_model):
            self.metrics.prometheus.forget(self.endpoint, self.variant, target_model, of_gauges=False)

    def event(self, kind: str, text: str) -> None:
        """Something to show people who watch the endpoint, in one line. ``kind``: "model-loaded", "error", …"""
        self.events.add(self.endpoint, kind, f"instance {self.instance}: {text}")

    def error(self, target_model: str, error: EnsembleError) -> None:
        self._remember(target_model, error.message, error.cure)
        self.event("error", str(error))

    def warning(self, target_model: str, text: str, cure: str = "") -> None:
        self._remember(target_model, text, cure)
        self.event("warning", f"{text}; {cure}" if cure else text)

    def _remember(self, target_model: str, text: str, cure: str) -> None:
        """Put it first. A repeated error, or one of many models, stays one: it must not push all others out."""
        error = RecentError(datetime.now(UTC), self.instance, target_model, shortened(text), cure)
        if earlier := next((old for old in self.errors if old.kind == error.kind), None):
            self.errors.remove(earlier)
            error = error.after(earlier)
        self.errors.appendleft(error)
