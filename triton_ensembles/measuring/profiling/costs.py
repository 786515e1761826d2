"""What each step of a cold start costs in a container, and the container's memory."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.endpoint.local_container import LocalContainer
from triton_ensembles.ground.processes import memory_parts
from triton_ensembles.measuring.profiling.profile import Memory

_SETTLE_SECONDS = 0.3  # arenas and shared memory that a request has used are given back


@dataclass(frozen=True)
class Cost:
    """The cost of one step of a cold start: its duration, and the processor time of all that works on it (seconds)."""

    seconds: float
    core_seconds: float


def container_for(root: Path, python: str, *, completes: bool) -> LocalContainer:
    """Return a container whose models perf_analyzer, which does not know SageMaker's routes, can call as well.

    Args:
        root: a new folder, as that of LocalContainer.
        python: of the stubs, such as "3.10".
        completes: whether Triton completes configs.
    """
    # Without namespaces: perf_analyzer asks for the steps of an ensemble by name, and cannot write a name with one.
    flags = ["--model-namespacing=false", *([] if completes else ["--disable-auto-complete-config"])]
    return LocalContainer(root, python, flags)


async def unpack(container: LocalContainer, archive: Path, target_model: str) -> tuple[int, Cost]:
    """Unpack the archive. Returns its bytes on the disk. Raises ExtractionError, or OSError for a full disk."""
    processor = time.process_time()
    size, seconds = await container.unpack(archive, target_model)
    return size, Cost(seconds, time.process_time() - processor)


async def load(container: LocalContainer, target_model: str) -> Cost:
    """Load an unpacked archive. Raises NotLoadedError with Triton's reason."""
    before, began = container.processor_seconds(), time.monotonic()
    await container.load(target_model)
    return Cost(time.monotonic() - began, container.processor_seconds() - before)


async def unload(container: LocalContainer, target_model: str) -> float:
    """Return the seconds until the memory of a loaded archive is free. Raises EnsembleError."""
    began = time.monotonic()
    await container.unload(target_model)
    return time.monotonic() - began


async def memory_of(container: LocalContainer, settle_seconds: float = _SETTLE_SECONDS) -> Memory:
    """Return the memory of the server and all its processes."""
    await asyncio.sleep(settle_seconds)
    return Memory(*await asyncio.to_thread(memory_parts, container.processes))
