"""One model of one instance."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from triton_ensembles.endpoint.hosting.status import ColdStart, ModelState, ModelStatus
from triton_ensembles.endpoint.hosting.triton_api import TritonApi


class Model:
    """The state of one TargetModel. Only changed on the event loop."""

    def __init__(self, target_model: str, hash: str, invoke_path: str) -> None:
        self.target_model = target_model
        self.hash = hash
        self.invoke_path = invoke_path  # on the container's port
        self.api: TritonApi | None = None  # of the server that loaded it; no other server knows the model
        self.state = ModelState.WAITING
        self.archive_bytes = 0
        self.disk_bytes = 0
        self.memory_bytes = 0
        self.etag = ""
        self.in_use = 0
        self.hits = 0
        self.misses = 0
        self.loads = 0
        self.last_use = 0.0  # monotonic; for the policy
        self.last_used: datetime | None = None
        self.cold_start: ColdStart | None = None
        self.load_task: asyncio.Task[None] | None = None

    @property
    def loaded(self) -> bool:
        return self.state is ModelState.LOADED

    @property
    def idle_on_disk(self) -> bool:
        return self.state is ModelState.ON_DISK and self.load_task is None

    def touch(self) -> None:
        self.last_use = time.monotonic()
        self.last_used = datetime.now(UTC)

    def status(self) -> ModelStatus:
        return ModelStatus(
            target_model=self.target_model,
            hash=self.hash,
            state=self.state,
            archive_bytes=self.archive_bytes,
            disk_bytes=self.disk_bytes,
            memory_bytes=self.memory_bytes if self.loaded else 0,
            in_use=self.in_use,
            hits=self.hits,
            misses=self.misses,
            loads=self.loads,
            last_used=self.last_used,
            cold_start=self.cold_start,
            etag=self.etag,
        )
