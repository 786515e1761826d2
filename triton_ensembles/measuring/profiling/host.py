"""One container of the local endpoint with the archive that is measured, and with clones of it."""

import asyncio
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.endpoint.hosting import faults
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.cpu import family_seconds
from triton_ensembles.endpoint.hosting.disk import Disk, model_hash
from triton_ensembles.endpoint.hosting.model import Model
from triton_ensembles.endpoint.hosting.objects import S3Objects
from triton_ensembles.endpoint.hosting.spec import Budgets
from triton_ensembles.endpoint.hosting.triton_api import ContainerAnswered, ContainerDied
from triton_ensembles.endpoint.hosting.variant import CONTAINER_VARIABLES
from triton_ensembles.ground.processes import descendants, memory_parts
from triton_ensembles.measuring.profiling.profile import Memory
from triton_ensembles.triton.sagemaker_server import SageMakerServer
from triton_ensembles.triton.sagemaker_variables import MULTI_MODEL
from triton_ensembles.triton.server_process import Reach

_LIMITS = Budgets(memory_bytes=0, disk_bytes=1)  # only the seconds matter here
_SETTLE_SECONDS = 0.3  # arenas and shared memory that a request has used are given back


@dataclass(frozen=True)
class Cost:
    """The cost of one step of a cold start: its duration, and the processor time of all that works on it (seconds)."""

    seconds: float
    core_seconds: float


class Host:
    """A container as an instance of the local endpoint has it, with KServe v2 beside SageMaker's routes.

    It is the same server, so that perf_analyzer, which does not know SageMaker's routes, can ask the same models.

    Args:
        root: a new folder; its path may only have letters, digits and ``._-/+@=,:`` in it.
        python: of the stubs, such as "3.10".
        completes: whether Triton completes configs.
    """

    def __init__(self, root: Path, python: str, *, completes: bool) -> None:
        root.mkdir()
        self._disk = Disk(root, _Files(), _LIMITS.disk_bytes)
        # Without namespaces: perf_analyzer asks for the steps of an ensemble by name, and cannot write a name with one.
        flags = ["--allow-http=true", "--allow-grpc=true", "--model-namespacing=false"]
        if not completes:
            flags.append("--disable-auto-complete-config")
        variables = {MULTI_MODEL: "true", "SAGEMAKER_TRITON_ADDITIONAL_ARGS": " ".join(flags)}
        self._log = root / "log"
        self._container = Container(
            self._disk.empty_folder(),
            CONTAINER_VARIABLES | variables,
            self._log,
            _LIMITS.startup_seconds,
            python,
            reach=Reach.SECRET,
        )

    async def __aenter__(self) -> "Host":
        await self._container.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._container.stop()

    @property
    def server(self) -> SageMakerServer:
        server = self._container.server
        assert isinstance(server, SageMakerServer)
        return server

    async def unpack(self, archive: Path, target_model: str) -> tuple[Model, Cost]:
        """Unpack the archive onto the disk of the instance. Raises ExtractionError, or OSError for a full disk."""
        hash = model_hash("s3://profile/", target_model)
        model = Model(target_model, hash, f"/models/{hash}/invoke")
        processor = time.process_time()
        _, seconds = await self._disk.fetch(model, os.fspath(archive), _no_limit)
        return model, Cost(seconds, time.process_time() - processor)

    async def load(self, model: Model) -> Cost:
        """Raises HostingError with Triton's reason when the container refuses the model, or does not survive it."""
        api, folder = await self._container.api(), self._disk.url_to_load(model.hash)
        log_start = self._container.log_size()
        before, began = self.processor_seconds(), time.monotonic()
        try:
            async with asyncio.timeout(_LIMITS.load_seconds):
                await api.load(model.hash, folder, model.target_model)
        except ContainerAnswered as answer:
            reasons = await asyncio.to_thread(self.server.reasons, log_start)
            raise faults.not_loaded(
                model.target_model, answer.status, answer.message, reasons, folder, self.server.python
            ) from None
        except ContainerDied:
            reasons = await asyncio.to_thread(self.server.reasons, log_start)
            raise faults.died_while_loading(model.target_model, reasons) from None
        except TimeoutError:
            self._container.stuck = True
            raise faults.load_timed_out(model.target_model, _LIMITS.load_seconds, restarted=True) from None
        return Cost(time.monotonic() - began, self.processor_seconds() - before)

    async def unload(self, model: Model) -> float:
        """Returns the seconds until its memory is free. Raises ContainerDied or ContainerAnswered."""
        api, began = await self._container.api(), time.monotonic()
        async with self._container.ending(model.hash) as wait_until_ended:
            await api.unload(model.hash, model.target_model)
            await wait_until_ended()
        return time.monotonic() - began

    async def delete(self, model: Model) -> None:
        await self._disk.delete(model)

    async def memory(self, settle_seconds: float = _SETTLE_SECONDS) -> Memory:
        """The memory of the server and all its processes."""
        await asyncio.sleep(settle_seconds)
        return Memory(*await asyncio.to_thread(memory_parts, self._family()))

    async def temporary_bytes(self) -> int:
        return await self._container.environment_bytes()

    def processor_seconds(self) -> float:
        """Processor time of the server and all its processes so far, those that have ended included."""
        return family_seconds(self._family())

    def _family(self) -> list[int]:
        return [self.server.pid, *descendants(self.server.pid)]


class _Files(S3Objects):
    """Archives of this machine by their paths, in the place of objects of S3."""

    def __init__(self) -> None:
        super().__init__(None)

    async def size(self, url: str) -> int:
        return Path(url).stat().st_size

    async def fetch(self, url: str, destination: Path) -> None:
        try:
            destination.hardlink_to(url)
        except OSError:  # another file system
            await asyncio.to_thread(shutil.copyfile, url, destination)


async def _no_limit(_: int) -> None:
    """The disk is looked at before each archive."""
