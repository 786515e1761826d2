"""Packages from PyPI: into a prefix made from an installed Python, or on top of a conda environment."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.artifacts.environment.pins import Pins
from triton_ensembles.artifacts.environment.prefix import make_prefix
from triton_ensembles.artifacts.environment.spec import EnvironmentSpec
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import ProgramError, output_of
from triton_ensembles.ground.progress import Progress
from triton_ensembles.triton.interpreter import choose_interpreter


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
    """Install ``requirements`` into ``prefix``'s site-packages, with the pip of the Python that runs this.

    pip runs *in* the prefix's Python (``--python``), so markers and wheel tags are those of the Python that will import
    the packages. pip's own configuration says where packages come from. Console scripts, whose first line names the
    prefix, are removed. Raises :class:`EnsembleError`: pip cannot install them."""
    if not requirements:
        return
    progress(f"installing {', '.join(requirements)} with pip")
    site = prefix / "lib" / f"python{minor}" / "site-packages"
    settings = {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")},
        # Against a user's defaults that contradict --target or refuse a Python outside a virtual environment.
        "PIP_USER": "0",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }
    command: list[str | Path] = [sys.executable, "-m", "pip", "--python", prefix / "bin" / "python", "install"]
    command += ["--target", site, "--no-compile", "--no-input", "--disable-pip-version-check", "--prefer-binary"]
    try:
        with tempfile.TemporaryDirectory(prefix="triton-pip-") as folder:
            report = Path(folder) / "report.json"
            command += ["--report", report, *pins.pip_arguments(requirements, Path(folder))]
            output_of(command, environment=settings)
            pins.note_report(report)
    except ProgramError as error:
        refuse_missing_pip(error)
        if pins.given:
            raise pins.refusal(error.reason) from error
        message = f"pip cannot install {', '.join(requirements)} for Python {minor}: {error.reason}"
        cure = "correct the versions, or pip's access to its index"
        if spec.python not in (None, minor):
            cure += f", or install Python {spec.python}, which they are for"
        raise EnsembleError(message, path=spec.path, cure=cure) from error
    shutil.rmtree(site / "bin", ignore_errors=True)


def refuse_missing_pip(error: ProgramError) -> None:
    """Raise :class:`EnsembleError` where ``error`` says that this Python has no pip."""
    if "No module named pip" in error.output:
        raise EnsembleError(f"{sys.executable} has no pip", cure=f"{sys.executable} -m ensurepip --upgrade") from error
