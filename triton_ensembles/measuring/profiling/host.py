"""The container with the archive that is measured, and with clones of it: what each step costs."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.endpoint.local_container import LocalContainer
from triton_ensembles.ground.processes import memory_parts
from triton_ensembles.measuring.profiling.profile import Memory
from triton_ensembles.server.sagemaker_server import SageMakerServer

_SETTLE_SECONDS = 0.3  # arenas and shared memory that a request has used are given back


@dataclass(frozen=True)
class Cost:
    """The cost of one step of a cold start: its duration, and the processor time of all that works on it (seconds)."""

    seconds: float
    core_seconds: float


class Host:
    """A container whose models perf_analyzer, which does not know SageMaker's routes, can ask as well.

    Args:
        root: a new folder, as that of LocalContainer.
        python: of the stubs, such as "3.10".
        completes: whether Triton completes configs.
    """

    def __init__(self, root: Path, python: str, *, completes: bool) -> None:
        # Without namespaces: perf_analyzer asks for the steps of an ensemble by name, and cannot write a name with one.
        flags = ["--model-namespacing=false", *([] if completes else ["--disable-auto-complete-config"])]
        self._container = LocalContainer(root, python, flags)

    async def __aenter__(self) -> "Host":
        await self._container.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._container.stop()

    @property
    def server(self) -> SageMakerServer:
        return self._container.server

    async def unpack(self, archive: Path, target_model: str) -> tuple[int, Cost]:
        """Unpack the archive. Returns its bytes on the disk. Raises ExtractionError, or OSError for a full disk."""
        processor = time.process_time()
        size, seconds = await self._container.unpack(archive, target_model)
        return size, Cost(seconds, time.process_time() - processor)

    async def load(self, target_model: str) -> Cost:
        """Raises NotLoadedError with Triton's reason."""
        before = self.processor_seconds()
        seconds = await _seconds(self._container.load(target_model))
        return Cost(seconds, self.processor_seconds() - before)

    async def unload(self, target_model: str) -> float:
        """Returns the seconds until its memory is free. Raises EnsembleError."""
        return await _seconds(self._container.unload(target_model))

    async def delete(self, target_model: str) -> None:
        await self._container.delete(target_model)

    async def memory(self, settle_seconds: float = _SETTLE_SECONDS) -> Memory:
        """The memory of the server and all its processes."""
        await asyncio.sleep(settle_seconds)
        return Memory(*await asyncio.to_thread(memory_parts, self._container.processes))

    async def temporary_bytes(self) -> int:
        return await self._container.environment_bytes()

    def processor_seconds(self) -> float:
        """Processor time of the server and all its processes so far, those that have ended included."""
        return self._container.processor_seconds()


async def _seconds(work: Awaitable[None]) -> float:
    began = time.monotonic()
    await work
    return time.monotonic() - began
