"""Modules of packages that could not be imported where these were unpacked, and what to do about one."""

import re
from pathlib import Path

from triton_ensembles.artifacts.environment.bytecode import import_all
from triton_ensembles.building.made.store import Entry
from triton_ensembles.checking.imported_packages import imported
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.repository import Model
from triton_ensembles.ground.errors import EnsembleError

FAILED = "not_imported"
"""The fact that says which modules of the packages cannot be imported, and why."""

_OF_SYSTEM = re.compile(r"cannot open shared object file|\blibrary\b|\bfind lib", re.IGNORECASE)
_LIBRARY = re.compile(r"\blib(?!rar)[\w+-]+(?:\.so[.\d]*)?")
_UNNAMED = re.compile(r"'?([\w-]+)'? (?:C |shared )*library")
_OF_A_GPU = re.compile(r"libcuda\.|libnv|\bno CUDA-capable device|CUDA driver|CUDA_ERROR", re.IGNORECASE)


def refuse_failed(step: Model, packages: Entry, program: Path, place: str = "") -> None:
    """Raise :class:`EnsembleError` for an import of ``step`` that ``program`` cannot do. What failed when the packages,
    which are declared in ``place``, were unpacked is tried again: a library of the system may be there now."""
    for file, module in imported(step):
        failed = [name for name in module.alternatives if name in packages.facts[FAILED]]
        if failed and (reasons := import_all(packages.path, failed, program)[1]):
            reason, origin = next(iter(reasons.values())), f" from {place}" if place else ""
            message = f"{module.package} is installed{origin}, and cannot be imported: {reason}"
            cure = cure_of_import(reason, place or "its requirements.txt")
            raise EnsembleError(message, path=written(step, file), line=file.place(module.node).line, cure=cure)


def written(step: Model, file: PythonFile) -> Path:
    """The file as its author knows it, who may have named one model only."""
    folder = step.repository.path / step.root
    return (folder.resolve() if folder.is_symlink() else folder) / file.path


def cure_of_import(reason: str, place: str) -> str:
    """Return what to do about a module of the packages declared in ``place`` that fails with ``reason``."""
    if _OF_A_GPU.search(reason):
        return f"it needs a GPU and NVIDIA's driver, and there is none: write its package for a CPU into {place}"
    if not _OF_SYSTEM.search(reason):
        return f"correct {place}: another version or package may have none of this"
    named, unnamed = _LIBRARY.search(reason), _UNNAMED.search(reason)
    library = named[0] if named else f"lib{unnamed[1].lower()}" if unnamed else "a library"
    return (
        f"it needs {library} of the system, which this machine lacks, and an image may: declare a version or a package "
        f"whose wheels bring it (soundfile>=0.12, opencv-python-headless) in {place}, or install it in both"
    )
