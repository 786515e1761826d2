"""Modules of packages that could not be imported where these were unpacked, and what to do about one."""

import re
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.artifacts.environment.bytecode import import_all
from triton_ensembles.building.made.store import Entry

FAILED = "not_imported"
"""The fact that says which modules of the packages cannot be imported, and why."""

_OF_SYSTEM = re.compile(r"cannot open shared object file|\blibrary\b|\bfind lib", re.IGNORECASE)
_LIBRARY = re.compile(r"\blib(?!rar)[\w+-]+(?:\.so[.\d]*)?")
_UNNAMED = re.compile(r"'?([\w-]+)'? (?:C |shared )*library")
_OF_A_GPU = re.compile(r"libcuda\.|libnv|\bno CUDA-capable device|CUDA driver|CUDA_ERROR", re.IGNORECASE)


def reason_now(modules: Iterable[str], packages: Entry, program: Path) -> str:
    """Return why ``program`` cannot import one of ``modules``; "" if it can import those that failed when the packages
    were unpacked: a library of the system may have been installed since."""
    failed = [name for name in modules if name in packages.facts[FAILED]]
    return next(iter(import_all(packages.path, failed, program)[1].values()), "") if failed else ""


def cure_of_import(reason: str, place: str) -> str:
    """Return what to do about a module of the packages declared in ``place`` that fails with ``reason``."""
    if _OF_A_GPU.search(reason):
        return f"it needs a GPU and NVIDIA's driver, and there is none: write its package for a CPU into {place}"
    if not _OF_SYSTEM.search(reason):
        return f"correct {place}: another version or package may have none of this"
    named, unnamed = _LIBRARY.search(reason), _UNNAMED.search(reason)
    library = named[0] if named else f"lib{unnamed[1].lower()}" if unnamed else "a library"
    return (
        f"it needs {library} of the system, which this machine lacks, and an image may: write a version or a package "
        f"into {place} whose wheels bring it (soundfile>=0.12, opencv-python-headless), or install it in both"
    )
