"""Wheels unpacked into a folder, for a Python and a glibc that need not be those of this machine."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.utils import parse_wheel_filename

from triton_ensembles.artifacts.environment.left_out import DEFAULT_EXCLUDE, INSTALLER_FILES
from triton_ensembles.artifacts.environment.libraries import required_glibc
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.pip_failures import WheelError, explained, reason_of
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.pip import run_pip
from triton_ensembles.ground.programs import ProgramError
from triton_ensembles.ground.progress import Progress

_LEGACY = {(2, 17): "manylinux2014", (2, 12): "manylinux2010", (2, 5): "manylinux1"}  # PEP 600

# From --python-version pip takes wheel tags and Requires-Python; markers it reads from these two functions (PEP 508).
_PIP = """
import platform, runpy, sys
version = sys.argv.pop(1)
platform.python_version = lambda: version
platform.python_version_tuple = lambda: tuple(version.split("."))
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Wheels:
    """Wheels to unpack as they lie in ``site-packages``."""

    requirements: Sequence[str]
    python: str  # the minor version ("3.10") of the CPython that will import them; it need not be installed
    glibc: tuple[int, ...]  # the newest that they may need, for example (2, 35)
    # globs of files to leave out besides DEFAULT_EXCLUDE, as paths below a prefix (`*/site-packages/numpy/*`)
    exclude: Sequence[str] = ()
    constraints: Sequence[str] = ()  # versions that packages must have if something requires them (`numpy<2`)
    options: Sequence[str] = ()  # of pip, such as `--extra-index-url` and an address
    dependencies: bool = True  # whether what the packages require is also unpacked

    def facts(self, packages: Mapping[str, str]) -> dict[str, Any]:
        """Return the facts of these ``packages``, which were unpacked, for the manifest."""
        glibc = ".".join(map(str, self.glibc))
        return {"python": self.python, "provider": "pip", "glibc": glibc, "packages": dict(sorted(packages.items()))}


def install_wheels(
    wheels: Wheels, destination: Path, pins: Pins | None = None, progress: Progress = lambda _: None
) -> dict[str, str]:
    """Unpack ``wheels`` into the folder ``destination``. ``pins``: the exact ones to take, if there are any given;
    those that were taken are noted in it.

    pip chooses and downloads the wheels, with its own configuration. The same wheels give the same files; scripts,
    headers, byte code and an installer's records are left out. Returns the versions of the packages of which files were
    unpacked, by name (lower case, dashes).

    Raises:
        WheelError: there is no wheel for this Python and glibc, or the requirements contradict each other.
        EnsembleError: pip fails for another reason.
    """
    if not wheels.requirements:
        return {}
    progress(f"unpacking wheels for Python {wheels.python}: {', '.join(wheels.requirements)}")
    left_out, pins = (*DEFAULT_EXCLUDE, *wheels.exclude), pins or Pins()
    installed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="triton-wheels-", ignore_cleanup_errors=True) as folder:
        _download(wheels, pins, Path(folder))
        pins.note_wheels(Path(folder), wheels.requirements)
        for wheel in sorted(Path(folder).glob("*.whl")):
            name, version, _, tags = parse_wheel_filename(wheel.name)
            files = _unpack(wheel, destination, left_out, f"lib/python{wheels.python}/site-packages")
            if any(tag.platform.startswith("linux_") for tag in tags):  # which says nothing about glibc
                _refuse_newer_glibc(str(name), str(version), files, wheels.glibc)
            if _name_modules(files, destination):
                installed[name] = str(version)
    return installed


def _download(wheels: Wheels, pins: Pins, folder: Path) -> None:
    python, glibc = wheels.python, wheels.glibc
    arguments = ["--dest", os.fspath(folder), *wheels.options, *([] if wheels.dependencies else ["--no-deps"])]
    if wheels.constraints and not pins.given:
        (folder / "constraints.txt").write_text("".join(f"{line}\n" for line in wheels.constraints))
        arguments += ["--constraint", os.fspath(folder / "constraints.txt")]
    arguments += pins.pip_arguments(wheels.requirements, folder)
    try:
        run_pip(*_download_for(python, glibc), *arguments, program=("-I", "-c", _PIP, f"{python}.99"))
    except ProgramError as error:
        if pins.given:
            raise pins.refusal(reason_of(error)) from error
        raise explained(error, wheels.requirements, python, glibc) from error


def _download_for(python: str, glibc: tuple[int, ...]) -> Iterator[str]:
    yield from ("download", "--only-binary=:all:", "--implementation", "cp", "--abi", f"cp{python.replace('.', '')}")
    # Requirements such as ">=3.8.1" are met by every Python in use: a late patch release of this minor version.
    yield from ("--python-version", f"{python}.99")
    for platform in _platforms(glibc):
        yield from ("--platform", platform)


def _platforms(glibc: tuple[int, ...]) -> Iterator[str]:
    """The platform tags up to ``glibc``, the best first (PEP 600)."""
    major, newest = glibc
    for minor in range(newest, 4, -1):
        yield f"manylinux_{major}_{minor}_x86_64"
        if legacy := _LEGACY.get((major, minor)):
            yield f"{legacy}_x86_64"
    yield "linux_x86_64"


def _unpack(wheel: Path, destination: Path, left_out: Sequence[str], site: str) -> list[Path]:
    """The files that were written: those of the package itself, without a wheel's scripts, headers and data."""
    written = []
    with zipfile.ZipFile(wheel) as archive:
        for member in sorted(archive.infolist(), key=lambda member: member.filename):
            parts = PurePosixPath(member.filename).parts
            if parts[0].endswith(".data"):
                if len(parts) < 3 or parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            inside = "/".join(parts)
            # Python reads .pth files in site-packages only.
            useless = parts[-1] in INSTALLER_FILES if parts[0].endswith(".dist-info") else inside.endswith(".pth")
            if member.is_dir() or useless or any(fnmatch(f"{site}/{inside}", glob) for glob in left_out):
                continue
            if ".." in parts or inside.startswith("/"):
                raise EnsembleError(f"{wheel.name} holds a file outside its folder: {member.filename}")
            path = destination / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            path.chmod(0o755 if member.external_attr >> 16 & 0o111 else 0o644)
            written.append(path)
    return written


def _name_modules(files: list[Path], destination: Path) -> bool:
    """Write ``top_level.txt`` of a package: the names under which it is imported, by which `check` knows that a module
    beside model.py is a package's and not the step's own. Returns whether there are any."""
    inside = [file.relative_to(destination).parts for file in files]
    info = {parts[0] for parts in inside if parts[0].endswith(".dist-info")}
    names = sorted({parts[0].partition(".")[0] for parts in inside if parts[0] not in info})
    for folder in info if names else ():
        (destination / folder / "top_level.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return bool(names)


def _refuse_newer_glibc(name: str, version: str, files: list[Path], glibc: tuple[int, ...]) -> None:
    needs = required_glibc(files)
    if needs and tuple(map(int, needs.split("."))) > glibc:
        message = f"the wheel of {name}=={version} needs glibc {needs}, and there is {'.'.join(map(str, glibc))}"
        raise WheelError(message, [name])
