"""Packages from PyPI: into a prefix made from an installed Python, or on top of a conda environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_ensembles.environment.commands import CommandError, output_of
from triton_ensembles.environment.interpreter import choose_interpreter
from triton_ensembles.environment.prefix import make_prefix
from triton_ensembles.environment.spec import EnvironmentSpec
from triton_ensembles.errors import EnsembleError


def install_from_pypi(spec: EnvironmentSpec, prefix: Path, progress: Callable[[str], object]) -> None:
    """The provider ``pypi``: no channel, no solver; an installed Python's files, then pip's resolution."""
    interpreter, warning = choose_interpreter(spec.python, exactly=spec.exactly)
    if warning:
        progress(warning)
    make_prefix(interpreter, prefix, progress)
    pip_install(spec, spec.pip_requirements, prefix, interpreter.minor, progress)


def pip_install(
    spec: EnvironmentSpec, requirements: Sequence[str], prefix: Path, minor: str, progress: Callable[[str], object]
) -> None:
    """Install ``requirements`` into ``prefix``'s site-packages, with the pip of the Python that runs this.

    pip runs *in* the prefix's Python (``--python``), so markers and wheel tags are those of the Python that will import
    the packages. Where packages come from is pip's own configuration. ``--target`` leaves out nothing that a step can
    import; the console scripts, which have the prefix in their first line, are removed.
    """
    if not requirements:
        return
    progress(f"installing {', '.join(requirements)} with pip")
    site = prefix / "lib" / f"python{minor}" / "site-packages"
    settings = {
        **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")},
        # A person's defaults that contradict --target, or refuse a Python that's no virtual environment.
        "PIP_USER": "0",
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }
    command: list[str | Path] = [sys.executable, "-m", "pip", "--python", prefix / "bin" / "python", "install"]
    command += ["--target", site, "--no-compile", "--no-input", "--disable-pip-version-check", "--prefer-binary"]
    try:
        output_of([*command, *requirements], environment=settings)
    except CommandError as error:
        if "No module named pip" in error.output:
            raise EnsembleError(
                f"{sys.executable} has no pip", cure=f"{sys.executable} -m ensurepip --upgrade"
            ) from error
        raise EnsembleError(
            f"pip can't install {', '.join(requirements)} for Python {minor}: {error.reason}",
            path=spec.path,
            cure="correct the versions, or mend pip's way to its index"
            + (f", or install Python {spec.python}, which they are for" if spec.python not in (None, minor) else ""),
        ) from error
    shutil.rmtree(site / "bin", ignore_errors=True)
