"""Comparison of the files of a version folder with those of the build, before they are trusted with requests."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

from triton_ensembles.runtime.backends.common.model_instance import LoadError

_CHUNK = 1 << 18  # bytes; hashlib releases the GIL for these


class IntegrityCheck:
    """Reads all files of a version folder in the background, because the worker loads them meanwhile."""

    def __init__(self, folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
        self._folder, self._files = folder, files
        self._paths = iter(sorted(files, key=lambda path: (files[path][0], path), reverse=True))
        self._faults: list[tuple[int, str]] = []  # with the sizes, by which the gravest is told
        self._threads = [Thread(target=self._read) for _ in range(min(2, os.cpu_count() or 1) if files else 0)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Wait for the result. Raises :class:`LoadError` that names a file that is missing or not the build's."""
        for thread in self._threads:
            thread.join()
        if self._faults:
            more = f" (and {len(self._faults) - 1} more)" if len(self._faults) > 1 else ""
            raise LoadError(f"the fused ensemble's file {max(self._faults)[1]}{more}: build the archive again")

    def _read(self) -> None:
        for path in self._paths:  # of which each thread takes the next
            size, sha256 = self._files[path]
            if fault := _fault(self._folder / path, path, sha256):
                self._faults.append((size, fault))


def sha256_of(path: Path) -> str:
    digest, buffer = hashlib.sha256(), memoryview(bytearray(_CHUNK))
    with path.open("rb", buffering=0) as file:
        while length := file.readinto(buffer):
            digest.update(buffer[:length])
    return digest.hexdigest()


def _fault(path: Path, name: str, sha256: str) -> str:
    try:
        return "" if sha256_of(path) == sha256 else f"{name} is damaged, or of another build"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
