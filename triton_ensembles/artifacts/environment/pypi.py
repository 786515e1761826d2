"""Packages from PyPI: into a prefix made from an installed Python, or on top of a conda environment."""

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.artifacts.environment.libraries import make_relocatable
from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.pip import run_pip
from triton_ensembles.ground.programs import ProgramError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.recipe.environment_file import EnvironmentSpec
from triton_ensembles.server.interpreter import Interpreter, choose_interpreter

# What no Python step needs: tests, the GUI, the static library, installers, and what a distribution adds.
LEFT_OUT = (
    *("__pycache__", "site-packages", "dist-packages", "lib-dynload", "test", "ensurepip", "lib2to3", "curses"),
    *("idlelib", "tkinter", "turtledemo", "turtle.py", "EXTERNALLY-MANAGED", "sitecustomize.py"),
)
# Extension modules for drawing, terminals and NIS, and deprecated ones. They would bring libtinfo, libreadline, libX11
# and Kerberos into <env>/lib, where every child program of a step would find them first.
MODULES_LEFT_OUT = (
    *("_tkinter", "_curses", "_curses_panel", "readline", "nis", "_crypt", "_dbm", "_gdbm", "ossaudiodev"),
    *("xxlimited", "xxlimited_35", "xxsubtype"),
)
_TESTING = ("_test", "_xx", "_ctypes_test")


def install_from_pypi(spec: EnvironmentSpec, prefix: Path, progress: Progress, pins: Pins) -> None:
    """The provider ``pypi``, without channels: copy an installed Python and let pip install the packages."""
    interpreter, warning = choose_interpreter(spec.python, exactly=spec.exactly)
    if warning:
        progress(warning)
    make_prefix(interpreter, prefix, progress)
    pip_install(spec, spec.pip_requirements, prefix, interpreter.minor, progress, pins)


def pip_install(
    spec: EnvironmentSpec, requirements: Sequence[str], prefix: Path, minor: str, progress: Progress, pins: Pins
) -> None:
    """Install ``requirements`` into ``prefix``'s site-packages with the pip of the Python that runs this, *in* the
    prefix's Python (``--python``), whose markers and wheel tags apply. Console scripts, whose first line names the
    prefix, are removed. Raises :class:`EnsembleError`: pip cannot install them."""
    if not requirements:
        return
    progress(f"installing {', '.join(requirements)} with pip")
    site = prefix / "lib" / f"python{minor}" / "site-packages"
    install = ("--python", prefix / "bin" / "python", "install", "--target", site, "--no-compile", "--prefer-binary")
    try:
        with tempfile.TemporaryDirectory(prefix="triton-pip-") as folder:
            report = Path(folder) / "report.json"
            run_pip(*install, *spec.pip_options, "--report", report, *pins.pip_arguments(requirements, Path(folder)))
            pins.note_report(report)
    except ProgramError as error:
        if pins.given:
            raise pins.refusal(error.reason) from error
        message = f"pip cannot install {', '.join(requirements)} for Python {minor}: {error.reason}"
        cure = "correct the versions, or pip's access to its index"
        if spec.python not in (None, minor):
            cure += f", or install Python {spec.python}, which they are for"
        raise EnsembleError(message, path=spec.path, cure=cure) from error
    shutil.rmtree(site / "bin", ignore_errors=True)


def make_prefix(interpreter: Interpreter, prefix: Path, progress: Progress) -> None:
    """Copy ``interpreter``, which must have a ``shared_library``, into the new folder ``prefix``, which may be moved.
    It holds the same as conda's ``python`` package: the executable, libpython, the standard library, and a record in
    ``conda-meta``, which conda-pack needs. No other package is installed in it."""
    progress(f"copying Python {interpreter.version} from {interpreter.base_prefix}")
    library = prefix / "lib"
    stdlib = library / f"python{interpreter.minor}"
    (prefix / "bin").mkdir(parents=True)
    _copy_library(interpreter, stdlib)
    if interpreter.stdlib.parent.name != "lib":  # Fedora's Python looks for its library below lib64
        (prefix / interpreter.stdlib.parent.name).symlink_to("lib")
    if interpreter.looks_in_dist_packages:
        (stdlib / "dist-packages").symlink_to("site-packages")

    executable = prefix / "bin" / f"python{interpreter.minor}"
    shutil.copyfile(interpreter.executable, executable)
    executable.chmod(0o755)
    for link in ("python", "python3"):
        (prefix / "bin" / link).symlink_to(executable.name)
    assert interpreter.shared_library is not None
    shutil.copyfile(interpreter.shared_library, library / interpreter.shared_library.name)
    make_relocatable(library, executable, sorted((stdlib / "lib-dynload").glob("*.so")))

    if interpreter.base_prefix != Path("/usr"):
        # sysconfig's table gets the prefix instead of the installation folder, as in a conda package, so that
        # conda-pack replaces it in turn and no path of this machine ends up in the archive.
        for table in stdlib.glob("_sysconfigdata*.py"):
            text = table.read_text(encoding="utf-8")
            table.write_text(text.replace(os.fspath(interpreter.base_prefix), os.fspath(prefix)), encoding="utf-8")
    _write_record(prefix, interpreter)


def _copy_library(interpreter: Interpreter, stdlib: Path) -> None:
    def left_out(folder: str, names: list[str]) -> set[str]:
        if Path(folder) == interpreter.stdlib:
            return {name for name in names if name in LEFT_OUT or name.startswith("config-")}
        # Below that only tests are left out: `unittest` and `distutils` have some, and `test.py` may be code.
        return {name for name in names if name in ("__pycache__", "tests")}

    dynload = stdlib / "lib-dynload"
    shutil.copytree(interpreter.stdlib, stdlib, ignore=left_out, ignore_dangling_symlinks=True)
    (stdlib / "site-packages").mkdir()
    dynload.mkdir(exist_ok=True)
    for module in sorted(interpreter.dynload.glob("*.so")):
        name = module.name.split(".")[0]
        if name not in MODULES_LEFT_OUT and not name.startswith(_TESTING):
            shutil.copyfile(module, dynload / module.name)


def _write_record(prefix: Path, interpreter: Interpreter) -> None:
    files = sorted(
        path.relative_to(prefix).as_posix()
        for path in prefix.rglob("*")
        if path.is_symlink() or (path.is_file() and "dist-packages" not in path.parts)
    )
    record = {
        "name": "python",
        "version": interpreter.version,
        "build": "from_interpreter",
        "build_number": 0,
        "channel": "",
        "url": "",
        "fn": f"python-{interpreter.version}-from_interpreter",
        "depends": [],
        "files": files,
        "link": {"source": "", "type": 1},
    }
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / f"{record['fn']}.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
