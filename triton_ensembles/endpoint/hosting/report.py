"""What an instance reports: metrics and events to an observer at once, and recent errors for the status page."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import Literal, Protocol

from triton_ensembles.endpoint.hosting.status import RecentError
from triton_ensembles.errors import EnsembleError

# CloudWatch's names and units; endpoint/metrics/names.py has them all.
MetricName = Literal[
    "ModelLatency",  # of every answered invocation, microseconds
    "ModelLoadingWaitTime",  # of an invocation that had to wait for its model, microseconds
    "ModelDownloadingTime",  # microseconds
    "ModelLoadingTime",  # of the container's own load call, microseconds
    "ModelUnloadingTime",  # microseconds
    "ModelCacheHit",  # 1 when the model was loaded as the request arrived, otherwise 0
    "LoadedModelCount",
    "MemoryUtilization",  # percent of the memory budget
    "DiskUtilization",  # percent of the disk budget
]
EventKind = Literal[
    "instance-started",
    "instance-died",
    "model-loaded",
    "model-unloaded",
    "model-evicted",  # unloaded because another model needs its memory
    "model-deleted",  # from the disk, because another model needs its space
    "warning",
    "error",
]
RECENT_ERRORS = 50  # kept of one variant


class Observer(Protocol):
    """Receives metrics and events. It is called from the event loop, so it must not block."""

    def metric(self, name: MetricName, value: float, *, variant: str, instance: str, target_model: str) -> None:
        """One value in CloudWatch's unit. ``target_model`` is "" where it is not about one model."""

    def event(self, kind: EventKind, text: str) -> None:
        """Something to show people who watch the endpoint, in one line."""


class Report:
    """Reports for one instance.

    Args:
        errors: the variant's recent errors, newest first; this report adds to them.
    """

    def __init__(self, observer: Observer, errors: deque[RecentError], variant: str, instance: int) -> None:
        self._observer = observer
        self._errors = errors
        self._variant = variant
        self._instance = instance

    def metric(self, name: MetricName, value: float, target_model: str = "") -> None:
        self._observer.metric(
            name, value, variant=self._variant, instance=str(self._instance), target_model=target_model
        )

    def event(self, kind: EventKind, text: str) -> None:
        self._observer.event(kind, f"instance {self._instance}: {text}")

    def error(self, target_model: str, error: EnsembleError) -> None:
        self._remember(target_model, error.message, error.cure)
        self.event("error", str(error))

    def warning(self, target_model: str, text: str, cure: str = "") -> None:
        self._remember(target_model, text, cure)
        self.event("warning", f"{text}; {cure}" if cure else text)

    def _remember(self, target_model: str, text: str, cure: str) -> None:
        self._errors.appendleft(RecentError(datetime.now(UTC), self._instance, target_model, text, cure))
