"""What an instance reports: metrics and events to an observer at once, and recent errors for the status page."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime

from triton_ensembles.endpoint.hosting.status import RecentError
from triton_ensembles.endpoint.metrics.record import EndpointObserver
from triton_ensembles.errors import EnsembleError

RECENT_ERRORS = 50  # kept of one variant


class Report:
    """Reports for one instance.

    Args:
        errors: the variant's recent errors, newest first; this report adds to them.
    """

    def __init__(self, observer: EndpointObserver, errors: deque[RecentError], variant: str, instance: int) -> None:
        self._observer = observer
        self._errors = errors
        self._variant = variant
        self._instance = instance

    def metric(self, name: str, value: float, target_model: str = "") -> None:
        self._observer.metric(
            name, value, variant=self._variant, instance=str(self._instance), target_model=target_model
        )

    def event(self, kind: str, text: str) -> None:
        self._observer.event(kind, f"instance {self._instance}: {text}")

    def error(self, target_model: str, error: EnsembleError) -> None:
        self._remember(target_model, error.message, error.cure)
        self.event("error", str(error))

    def warning(self, target_model: str, text: str, cure: str = "") -> None:
        self._remember(target_model, text, cure)
        self.event("warning", f"{text}; {cure}" if cure else text)

    def _remember(self, target_model: str, text: str, cure: str) -> None:
        self._errors.appendleft(RecentError(datetime.now(UTC), self._instance, target_model, text, cure))
