"""A container as an instance of the local endpoint has it, without the endpoint around it: for measurements."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from triton_ensembles.endpoint.variants.container_variables import container_variables
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import descendants
from triton_ensembles.hosting import faults
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container, Launch
from triton_ensembles.hosting.cpu import family_seconds
from triton_ensembles.hosting.disk import Disk, model_hash
from triton_ensembles.hosting.errors import HostingError
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.objects import Files
from triton_ensembles.hosting.triton_api import ContainerAnswered, ContainerDied
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.server.server_command import Reach, ServerOptions
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS

_LIMITS = Budgets(memory_bytes=0, disk_bytes=1)  # only the seconds matter here


class NotLoadedError(EnsembleError):
    """The container refuses an archive, or does not survive it; with Triton's reason."""


class LocalContainer:
    """A tritonserver with SageMaker's routes, and with KServe v2 beside them for whoever has its secret.

    Args:
        root: a new folder; its path may only have letters, digits and ``._-/+@=,:`` in it.
        python: of the stubs, such as "3.10".
        arguments: further flags of tritonserver.
    """

    def __init__(self, root: Path, python: str, arguments: Sequence[str]) -> None:
        root.mkdir()
        self._disk = Disk(root, Files(), _LIMITS.disk_bytes)
        self._models: dict[str, Model] = {}
        flags = " ".join(["--allow-http=true", "--allow-grpc=true", *arguments])
        variables = container_variables({ADDITIONAL_ARGS: flags}, multi_model=True)
        options = ServerOptions(log=root / "log", ready_seconds=_LIMITS.startup_seconds, python=python)
        self._container = Container(Launch(self._disk.empty_folder(), variables, options, reach=Reach.SECRET))

    async def __aenter__(self) -> Self:
        await self._container.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._container.stop()

    @property
    def server(self) -> SageMakerServer:
        server = self._container.server
        assert isinstance(server, SageMakerServer)
        return server

    async def unpack(self, archive: Path, target_model: str) -> tuple[int, float]:
        """Unpack an archive onto the disk. Returns its bytes there, and the seconds.

        Raises ExtractionError, or OSError for a full disk.
        """
        hash = model_hash("s3://local/", target_model)
        self._models[target_model] = model = Model(target_model, hash, f"/models/{hash}/invoke")
        _, seconds = await self._disk.fetch(model, os.fspath(archive), _no_limit)
        return model.disk_bytes, seconds

    async def load(self, target_model: str) -> None:
        """Load an unpacked archive. Raises NotLoadedError."""
        model = self._models[target_model]
        api, folder = await self._container.api(), self._disk.url_to_load(model.hash)
        log_start = self._container.log_size()
        try:
            async with asyncio.timeout(_LIMITS.load_seconds):
                await api.load(model.hash, folder, target_model)
        except TimeoutError:
            self._container.stuck = True
            fault: HostingError = faults.load_timed_out(target_model, _LIMITS.load_seconds, restarted=True)
            raise NotLoadedError(fault.message) from None
        except (ContainerAnswered, ContainerDied) as error:
            reasons = await asyncio.to_thread(self.server.reasons, log_start)
            fault = faults.died_while_loading(target_model, reasons)
            if isinstance(error, ContainerAnswered):
                answer, python = (error.status, error.message), self.server.python
                fault = faults.not_loaded(target_model, *answer, reasons, folder, python)
            raise NotLoadedError(fault.message) from None

    async def unload(self, target_model: str) -> None:
        """Unload an archive, and wait until its memory is free. Raises EnsembleError."""
        model, api = self._models[target_model], await self._container.api()
        try:
            async with self._container.ending(model.hash) as wait_until_ended:
                await api.unload(model.hash, target_model)
                await wait_until_ended()
        except (ContainerAnswered, ContainerDied) as error:
            message = str(error) or "tritonserver ended on its own while it was measured"
            raise EnsembleError(message) from error

    async def delete(self, target_model: str) -> None:
        """Delete an archive that is not loaded from the disk."""
        await self._disk.delete(self._models.pop(target_model))

    async def temporary_bytes(self) -> int:
        """Return the bytes of the environments that the server has unpacked into /tmp."""
        return await self._container.environment_bytes()

    @property
    def processes(self) -> list[int]:
        """The server and all that it has started."""
        return [self.server.pid, *descendants(self.server.pid)]

    def processor_seconds(self) -> float:
        """Return the processor time of all processes so far, those that have ended included."""
        return family_seconds(self.processes)


async def _no_limit(_: int) -> None:
    """The disk is looked at before each archive."""
