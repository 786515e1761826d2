"""Whether the files of a version folder are those of the build, before they are trusted with requests."""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from triton_ensembles.runtime.backends.common.model_instance import LoadError

_CHUNK = 1 << 20  # hashlib releases the GIL for these


class IntegrityCheck:
    """Reads all files of a version folder in the background, because the worker loads them meanwhile."""

    def __init__(self, folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
        self._pool = ThreadPoolExecutor(2)
        paths = sorted(files, key=lambda path: (files[path][0], path), reverse=True)
        self._faults = [self._pool.submit(_fault, folder / path, path, files[path][1]) for path in paths]

    def finish(self) -> None:
        """Wait for the result. Raises :class:`LoadError` that names a file that is missing or not the build's."""
        try:
            faults = [fault for future in self._faults if (fault := future.result())]
        finally:
            self._pool.shutdown(cancel_futures=True)
        if faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise LoadError(f"the fused ensemble's file {faults[0]}{more}: build the archive again")


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _fault(path: Path, name: str, sha256: str) -> str:
    try:
        return "" if sha256_of(path) == sha256 else f"{name} is damaged, or of another build"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
