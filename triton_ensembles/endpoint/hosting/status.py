"""A variant as people see it at one moment: frozen copies, nothing that changes under the reader."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ModelState(StrEnum):
    """Where a model is in its life. It goes down this list, back up from ON_DISK when it is asked for again."""

    WAITING = "waiting"  # for room on the disk, or for others that are being downloaded
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
    memory_bytes: int  # growth of the server's memory by the load; 0 while not loaded
    in_use: int  # requests that wait for it or are being answered by it
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
    metrics_url: str | None  # "127.0.0.1:PORT" of Triton's metrics; None when the container has them switched off
    models: tuple[ModelStatus, ...]  # the last used first


@dataclass(frozen=True)
class Happening:
    """An error or an eviction, with what to do about it."""

    time: datetime
    instance: int
    target_model: str
    text: str
    cure: str = ""


@dataclass(frozen=True)
class VariantStatus:
    """A production variant: its instances, and the last things that went wrong or were evicted (the newest first)."""

    name: str
    mode: str  # "SingleModel" or "MultiModel"
    cache_setting: str  # "Enabled" or "Disabled"
    instances: tuple[InstanceStatus, ...]
    errors: tuple[Happening, ...]
    evictions: tuple[Happening, ...]
    invocations: int
    memory_budget: int  # bytes, each instance
    disk_budget: int  # bytes, each instance
