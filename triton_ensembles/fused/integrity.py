"""Whether the files of a version folder are those of the build, before they are trusted with requests."""

import hashlib
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from triton_ensembles.backends.common.model_instance import LoadError

_CHUNK = 1 << 20  # hashlib releases the GIL for these


class IntegrityCheck:
    """Reads all files in the background, because the worker loads them meanwhile.

    Args:
        folder: the version folder.
        files: the expected sha256 by path.
    """

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._pool = ThreadPoolExecutor(2)
        paths = sorted(files, key=lambda path: (_size(folder / path), path), reverse=True)
        self._faults: list[Future[str]] = [
            self._pool.submit(_fault, folder / path, path, files[path]) for path in paths
        ]

    def finish(self) -> None:
        """Wait for the result. Raises :class:`LoadError` that names a file that is missing or not the build's."""
        try:
            faults = [fault for future in self._faults if (fault := future.result())]
        finally:
            self._pool.shutdown(cancel_futures=True)
        if faults:
            others = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise LoadError(f"the fused ensemble's file {faults[0]}{others}: build the archive again")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _fault(path: Path, name: str, sha256: str) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return "" if digest.hexdigest() == sha256 else f"{name} is damaged, or of another build"
