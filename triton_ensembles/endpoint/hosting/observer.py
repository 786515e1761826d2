"""Who is told what happens: CloudWatch's metrics by their own names, and events in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

# CloudWatch's names and units; times are microseconds there.
Metric = Literal[
    "ModelLatency",  # every answered invocation
    "ModelLoadingWaitTime",  # an invocation that had to wait for its model
    "ModelDownloadingTime",
    "ModelLoadingTime",  # the container's own load call
    "ModelUnloadingTime",
    "ModelCacheHit",  # 1 when the model was loaded as the request came, else 0
    "LoadedModelCount",
    "MemoryUtilization",  # of the memory budget, percent
    "DiskUtilization",  # of the disk budget, percent
]
Unit = Literal["Microseconds", "Count", "Percent"]
Event = Literal[
    "instance-started",
    "instance-died",
    "model-loaded",
    "model-unloaded",
    "model-evicted",  # unloaded to make room in memory
    "model-deleted",  # from the disk
    "warning",
    "error",
]


class Observer(Protocol):
    """Called from the event loop, so it must not block."""

    def metric(self, name: Metric, value: float, unit: Unit, dimensions: Mapping[str, str]) -> None:
        """One value. ``dimensions`` has VariantName, InstanceIndex, and TargetModel where it is about one model."""

    def event(self, kind: Event, text: str) -> None:
        """Something that people watching the endpoint want to know, in one line."""
