"""A model of an instance."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from triton_ensembles.hosting.triton_api import TritonApi
from triton_ensembles.sagemaker.model_state import ModelState


@dataclass(frozen=True)
class ColdStart:
    """Seconds of a model's last cold start. ``download`` and ``extract`` are 0 when it was still on disk."""

    wait: float = 0.0  # for the disk, for the memory and for other loads
    download: float = 0.0
    extract: float = 0.0
    load: float = 0.0  # the container's own load call
    reason: str = ""  # what it waited for at last, as Model.waits_for

    @property
    def total(self) -> float:
        return self.wait + self.download + self.extract + self.load


@dataclass(eq=False)
class Model:
    """The state of one TargetModel. Only changed on the event loop; a snapshot of an instance has copies."""

    target_model: str
    hash: str
    invoke_path: str  # on the container's port
    url: str = ""  # of its archive
    kept: bool = True  # whether it stays loaded, and on the disk, when no request uses it any more
    alias: str = ""  # the container's name for it, where a load that never ends has that of the target model
    heals: bool = False  # whether it is loaded again when a process of its steps has ended; on AWS it is not
    api: TritonApi | None = None  # of the server that loaded it; no other server knows the model
    state: ModelState = ModelState.WAITING
    disk_bytes: int = 0
    load_bytes: int = 0  # the memory that it takes while it is loaded
    steps: frozenset[str] = frozenset()  # the names of the models that its ensemble is made of
    stubs: int = 0  # processes of its Python steps when it was loaded
    broken: str = ""  # why a loaded model fails every request until it is loaded again; "" while nothing is known
    in_use: int = 0  # requests that wait for it or that it is answering
    hits: int = 0  # invocations that found it loaded
    misses: int = 0
    loads: int = 0
    last_use: float = 0.0  # monotonic; for the policy
    last_used: datetime | None = None
    cold_start: ColdStart | None = None
    load_task: asyncio.Task[None] | None = None
    waits_for: str = ""  # or has waited for, of late: "other loads", "memory", "disk space" or "its unload"

    @property
    def name_in_container(self) -> str:
        return self.alias or self.target_model

    @property
    def loaded(self) -> bool:
        return self.state is ModelState.LOADED

    @property
    def memory_bytes(self) -> int:
        return self.load_bytes if self.loaded else 0

    @property
    def idle_on_disk(self) -> bool:
        return self.state is ModelState.ON_DISK and self.load_task is None

    @property
    def condition(self) -> str:
        """The state as people call it: "broken", "queued" (for disk, for memory or for other loads), or as it is."""
        if self.broken and self.loaded:
            return "broken"
        waits = self.state is ModelState.WAITING or (self.state is ModelState.ON_DISK and self.load_task is not None)
        return "queued" if waits else self.state.value

    def begin(self) -> None:
        """A request begins to wait for it or to be answered."""
        self.in_use += 1

    def touch(self) -> None:
        self.last_use = time.monotonic()
        self.last_used = datetime.now(UTC)
