"""The pip of the Python that runs this, always with the same settings."""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import neutral_environment, output_of

# Against a user's defaults that contradict --target, or refuse a Python outside a virtual environment.
_SETTINGS = {
    **{"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    **{"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"},
}


def run_pip(*arguments: str | Path, program: tuple[str, ...] = ("-m", "pip")) -> None:
    """Run ``pip ARGUMENTS`` to its end; ``program`` are the arguments of Python that start pip.

    Raises:
        EnsembleError: this Python has no pip.
        ProgramError: pip failed.
    """
    # By PathFinder: when setuptools' own finder is asked for pip, setuptools cannot be imported any more.
    if PathFinder.find_spec("pip") is None:
        raise EnsembleError(f"{sys.executable} has no pip", cure=f"{sys.executable} -m ensurepip --upgrade")
    output_of([sys.executable, *program, *arguments], environment=neutral_environment() | _SETTINGS)
