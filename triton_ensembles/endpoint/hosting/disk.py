"""The disk of one instance: archives come in, are unpacked to <root>/models/<hash>/model, and go again.

No file stays there that is not accounted for: an archive or a half unpacked model is removed as soon as it fails.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.endpoint.hosting.extract import extract
from triton_ensembles.endpoint.hosting.objects import ModelObjects, ObjectInfo

_GRANT = 64 << 20  # bytes that an extraction asks for at a time while there are any: few questions

MakeRoom = Callable[[int], Awaitable[None]]


@dataclass(frozen=True)
class Unpacked:
    """A model on disk, and how long it took to get there."""

    info: ObjectInfo
    disk_bytes: int
    download_seconds: float
    extract_seconds: float


class NoDiskSpace(Exception):  # noqa: N818
    """The file system is full, whatever the budget says."""


def model_hash(url: str) -> str:
    """SageMaker's opaque id of a model; the container wants letters, digits, dots and underscores only."""
    return hashlib.sha256(url.encode()).hexdigest()[:32]


class Disk:
    """``used`` counts the bytes of unpacked models, and of what is being downloaded and unpacked at the moment."""

    def __init__(self, root: Path, objects: ModelObjects, budget: int) -> None:
        self._models = root / "models"
        self._models.mkdir(parents=True)
        self._objects = objects
        self._budget = budget
        self.used = 0

    @property
    def free(self) -> int:
        return self._budget - self.used

    def empty_folder(self) -> Path:
        """A repository for a multi-model container, which wants one though it gets its models otherwise."""
        folder = self._models.parent / "repository"
        folder.mkdir(exist_ok=True)
        return folder

    def model_folder(self, hash: str) -> Path:
        """<root>/models/<hash>/model, where the archive is unpacked."""
        return self._models / hash / "model"

    def url_to_load(self, hash: str) -> Path:
        """What goes into POST /models as ``url``.

        That is <root>/models/<hash>/model, as in the container, unless config.pbtxt stands at the archive's root: the
        front end then takes the folder's parent for the repository, by a pattern that asks for /opt/ml/models. The
        parent given to begin with comes to the same thing: the one model "model" in the repository <hash>.
        """
        model = self.model_folder(hash)
        return model.parent if (model / "config.pbtxt").is_file() else model

    async def bring(
        self, url: str, hash: str, make_room: MakeRoom, download_ended: Callable[[], None] = lambda: None
    ) -> Unpacked:
        """Download the object at ``url`` and unpack it.

        Args:
            make_room: awaited with a number of bytes before they are written; it raises where there is no room. Once it
                has returned, they count as used.
            download_ended: called between the download and the extraction.

        Raises:
            ObjectMissing, DownloadFailed, ExtractionError: nothing is left on the disk.
            NoDiskSpace: the file system is full; nothing of this model is left on it.
        """
        scratch = Path(tempfile.mkdtemp(prefix=f".{hash}.", dir=self._models))
        granted = 0

        async def grant(size: int) -> None:
            nonlocal granted
            await make_room(size)
            granted += size
            self.used += size

        kept = 0
        try:
            info = await self._objects.describe(url)
            await grant(info.size)
            began = time.monotonic()
            archive = scratch / "archive.tar.gz"
            info = await self._objects.fetch(url, archive)
            downloaded = time.monotonic()
            download_ended()
            kept = await self._extract(archive, scratch / "model", grant)
            archive.unlink()
            scratch.chmod(0o755)
            scratch.rename(self._models / hash)
            return Unpacked(info, kept, downloaded - began, time.monotonic() - downloaded)
        except OSError as error:
            kept = 0
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise NoDiskSpace(os.strerror(error.errno)) from error
            raise
        except BaseException:
            kept = 0
            raise
        finally:
            self.used += kept - granted
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def delete(self, hash: str, disk_bytes: int) -> None:
        """Remove an unpacked model. Its name is free at once; its bytes count as used until they are gone."""
        doomed = Path(tempfile.mkdtemp(prefix=f".{hash}.", dir=self._models))
        (self._models / hash).rename(doomed / "model")
        await asyncio.to_thread(shutil.rmtree, doomed, ignore_errors=True)
        self.used -= disk_bytes

    async def _extract(self, archive: Path, folder: Path, grant: Callable[[int], Coroutine[None, None, None]]) -> int:
        """Unpack in a thread, which comes back to the event loop when it needs more room."""
        loop = asyncio.get_running_loop()
        allowance = 0
        asked: Future[None] | None = None
        given_up = False

        def reserve(size: int) -> None:
            nonlocal allowance, asked
            if size > allowance:
                wanted = max(size - allowance, min(_GRANT, self.free))
                asked = asyncio.run_coroutine_threadsafe(grant(wanted), loop)
                asked.result()
                allowance += wanted
            if given_up:
                raise InterruptedError("the extraction was given up")
            allowance -= size

        thread = asyncio.ensure_future(asyncio.to_thread(extract, archive, folder, reserve))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            given_up = True
            if asked is not None:
                asked.cancel()
            await asyncio.wait([thread])  # or it would go on writing into a folder that is being removed
            thread.exception()
            raise
