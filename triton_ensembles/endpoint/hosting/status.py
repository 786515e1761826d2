"""The state of a variant at one moment, as frozen copies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ModelState(StrEnum):
    """A model goes through these states in order, and from ON_DISK back to LOADING when it is requested again."""

    WAITING = "waiting"  # for disk space, or to be downloaded
    DOWNLOADING = "downloading"
    EXTRACTING = "extracting"
    LOADING = "loading"
    LOADED = "loaded"
    UNLOADING = "unloading"
    ON_DISK = "on disk"


@dataclass(frozen=True)
class ColdStart:
    """Seconds of a model's last cold start. ``download`` and ``extract`` are 0 when it was still on disk."""

    wait: float = 0.0  # for the disk, for the memory and for other loads
    download: float = 0.0
    extract: float = 0.0
    load: float = 0.0  # the container's own load call

    @property
    def total(self) -> float:
        return self.wait + self.download + self.extract + self.load


@dataclass(frozen=True)
class ModelStatus:
    """One model of one instance."""

    target_model: str
    hash: str
    state: ModelState
    archive_bytes: int
    disk_bytes: int
    memory_bytes: int  # what the load added to the server's memory; 0 while not loaded
    in_use: int  # requests that wait for it or that it is answering
    hits: int  # invocations that found it loaded
    misses: int
    loads: int
    last_used: datetime | None
    cold_start: ColdStart | None
    etag: str


@dataclass(frozen=True)
class InstanceStatus:
    """One instance: one tritonserver with its models."""

    index: int
    ready: bool
    pid: int | None
    restarts: int
    in_flight: int
    memory_bytes: int  # proportional set size of the server and its Python processes
    disk_bytes: int
    sagemaker_url: str  # "127.0.0.1:PORT", the container's own port
    metrics_url: str | None  # "127.0.0.1:PORT" of Triton's metrics; None when the container does not publish them
    models: tuple[ModelStatus, ...]  # the most recently used first


@dataclass(frozen=True)
class RecentError:
    """An error or a warning, and how to fix it."""

    time: datetime
    instance: int
    target_model: str
    text: str
    cure: str = ""


@dataclass(frozen=True)
class VariantStatus:
    """A production variant, its instances and its recent errors (newest first)."""

    name: str
    mode: str  # "SingleModel" or "MultiModel"
    cache_setting: str  # "Enabled" or "Disabled"
    instances: tuple[InstanceStatus, ...]
    errors: tuple[RecentError, ...]
    invocations: int
    memory_budget: int  # bytes, of each instance
    disk_budget: int  # bytes, of each instance
