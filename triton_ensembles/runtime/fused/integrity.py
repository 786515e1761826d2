"""Whether the files of a version folder are those of the build, before they are trusted with requests."""

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.fused.plan import PLAN

_CHUNK = 1 << 20  # hashlib releases the GIL for these


class IntegrityCheck:
    """Reads all files of a version folder in the background, because the worker loads them meanwhile."""

    def __init__(self, folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
        self._pool = ThreadPoolExecutor(2)
        paths = sorted(files, key=lambda path: (files[path][0], path), reverse=True)
        self._faults: list[Future[str]] = [
            self._pool.submit(_fault, folder / path, path, files[path][1]) for path in paths
        ]

    def finish(self) -> None:
        """Wait for the result. Raises :class:`LoadError` that names a file that is missing or not the build's."""
        try:
            faults = [fault for future in self._faults if (fault := future.result())]
        finally:
            self._pool.shutdown(cancel_futures=True)
        if faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise LoadError(f"the fused ensemble's file {faults[0]}{more}: build the archive again")


def refuse_incomplete(folder: Path) -> None:
    """Compare the sizes of all files in the version folder with the plan's.

    It is done before anything else is imported: a library that was cut off ends the process that loads it, and a module
    that is missing says nothing of the archive. A damaged plan is refused later.

    Raises:
        LoadError: it names a file that is missing, or has another size than in the build.
    """
    try:
        content = (folder / PLAN).read_bytes()
        if hashlib.sha256(content).hexdigest() not in (folder.parent / "config.pbtxt").read_text(encoding="utf-8"):
            return
    except (OSError, ValueError):
        return
    try:
        files = {path: size for path, (size, _) in json.loads(content)["files"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return
    for path, size in files.items():
        file = folder / path
        if not file.is_file():
            raise LoadError(f"the fused ensemble's file {path} is missing: build the archive again")
        if file.stat().st_size != size:
            message = f"the fused ensemble's file {path} is damaged, or of another build: build the archive again"
            raise LoadError(message)


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
