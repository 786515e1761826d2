"""The disk of one instance: archives are downloaded, unpacked to <root>/models/<hash>/model, and deleted.

Every file is accounted for: an archive or a partly unpacked model is removed as soon as it fails. What the container
itself unpacks into /tmp takes its part of the same disk.
"""

import asyncio
import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path

from triton_ensembles.hosting import faults
from triton_ensembles.hosting.errors import HostingError
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.objects import Objects
from triton_ensembles.sagemaker.extraction import extract
from triton_ensembles.sagemaker.model_state import ModelState

_GRANT = 64 << 20  # bytes that an extraction reserves at a time at most, or as many as the archive has: few calls

MakeRoom = Callable[[int], Awaitable[None]]
Grant = Callable[[int], Coroutine[None, None, None]]


class NoDiskSpace(Exception):
    """The file system is full, although the budget is not."""


def model_hash(url: str, target_model: str = "", taken: int = 0) -> str:
    """Return the model's id in the container, which only accepts letters, digits, dots and underscores; another one
    where ``taken`` ids of this model are those of loads that never end."""
    return hashlib.sha256(f"{url} {target_model} {taken or ''}".rstrip().encode()).hexdigest()[:32]


class Disk:
    """Downloads, unpacks and deletes models."""

    def __init__(self, root: Path, objects: Objects, budget: int) -> None:
        self._models = root / "models"
        self._models.mkdir(parents=True)
        self._objects = objects
        self._budget = budget
        self._model_bytes = 0
        self.environment_bytes = 0  # of those that the container has unpacked into /tmp, where it keeps them

    @property
    def used(self) -> int:
        """Bytes of models, also while they are being written, and of environments."""
        return self._model_bytes + self.environment_bytes

    @property
    def free(self) -> int:
        return self._budget - self.used

    def not_enough_room(self, model: Model, size: int, others_in_use: bool = False) -> HostingError:
        """The error when ``size`` more bytes cannot be freed for the model."""
        return faults.not_enough_room(
            model.target_model, "disk", self.used + size, self._budget, others_in_use, self.environment_bytes
        )

    def empty_folder(self) -> Path:
        """An empty repository for a multi-model container, which needs one even though it gets its models otherwise."""
        folder = self._models.parent / "repository"
        folder.mkdir(exist_ok=True)
        return folder

    def model_folder(self, hash: str) -> Path:
        """<root>/models/<hash>/model, where the archive is unpacked."""
        return self._models / hash / "model"

    def url_to_load(self, hash: str) -> Path:
        """The ``url`` of POST /models: :meth:`model_folder`, as in the container.

        Where config.pbtxt is at the archive's root, the front end uses the folder's parent as the repository, but only
        below /opt/ml/models. Passing the parent has the same effect: one model, "model", in the repository <hash>.
        """
        model = self.model_folder(hash)
        return model.parent if (model / "config.pbtxt").is_file() else model

    def rename(self, model: Model, hash: str) -> None:
        """Give a model on the disk another id."""
        (self._models / model.hash).rename(self._models / hash)
        model.hash = hash

    async def fetch(self, model: Model, url: str, make_room: MakeRoom) -> tuple[float, float]:
        """Download the object at ``url`` and unpack it: the seconds of both. The model is ON_DISK then.

        After an error (HostingError, ExtractionError, NoDiskSpace) it is WAITING again, and nothing of it is left on
        the disk.

        Args:
            make_room: awaited with a number of bytes before they are written. It raises when there is not enough space;
                once it has returned, the bytes count as used.
        """
        scratch = Path(tempfile.mkdtemp(prefix=f".{model.hash}.", dir=self._models))
        granted = kept = 0

        async def grant(size: int) -> None:
            nonlocal granted
            await make_room(size)
            granted += size
            self._model_bytes += size

        try:
            await grant(await self._objects.size(url))
            seconds = await self._write(model, url, scratch, grant)
            scratch.rename(self._models / model.hash)
            kept = model.disk_bytes
            model.state = ModelState.ON_DISK
            return seconds
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoDiskSpace(os.strerror(error.errno)) from error
            raise
        finally:
            if model.state is not ModelState.ON_DISK:
                model.state, model.disk_bytes = ModelState.WAITING, 0
            self._model_bytes += kept - granted
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def delete(self, model: Model) -> None:
        """Delete an unpacked model. Its folder is free at once; its bytes count as used until they are deleted."""
        trash = Path(tempfile.mkdtemp(prefix=f".{model.hash}.", dir=self._models))
        (self._models / model.hash).rename(trash / "model")
        await asyncio.to_thread(shutil.rmtree, trash, ignore_errors=True)
        self._model_bytes -= model.disk_bytes

    async def _write(self, model: Model, url: str, scratch: Path, grant: Grant) -> tuple[float, float]:
        """Download the archive into ``scratch`` and unpack it there, to model/: the seconds of both."""
        model.state = ModelState.DOWNLOADING
        began = time.monotonic()
        archive = scratch / "archive.tar.gz"
        await self._objects.fetch(url, archive)
        downloaded = time.monotonic()
        model.state, model.disk_bytes = ModelState.EXTRACTING, 0
        if archive.is_dir():  # of links: it is unpacked
            archive.rename(scratch / "model")
        else:
            model.disk_bytes = await self._extract(archive, scratch / "model", grant)
            archive.unlink()
        return downloaded - began, time.monotonic() - downloaded

    async def _extract(self, archive: Path, folder: Path, grant: Grant) -> int:
        """Unpack in a thread, which returns to the event loop when it needs more space."""
        loop = asyncio.get_running_loop()
        step = min(_GRANT, archive.stat().st_size)
        allowance = 0
        reservation: Future[None] | None = None
        canceled = False

        def reserve(size: int) -> None:
            nonlocal allowance, reservation
            if size > allowance:
                grant_size = max(size - allowance, min(step, self.free))
                reservation = asyncio.run_coroutine_threadsafe(grant(grant_size), loop)
                reservation.result()
                allowance += grant_size
            if canceled:
                raise InterruptedError("the extraction was canceled")
            allowance -= size

        thread = asyncio.ensure_future(asyncio.to_thread(extract, archive, folder, reserve))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            canceled = True
            if reservation is not None:
                reservation.cancel()
            await asyncio.wait([thread])  # otherwise it would write into a folder that is being removed
            thread.exception()
            raise
