"""Where the package itself lies, and where it keeps what it installs. The folders of a project are arguments."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
BACKENDS = PACKAGE / "runtime" / "backends"
IMPORTED_FROM = PACKAGE.parent
"""The folder on ``sys.path`` that the package is imported from: a checkout, or site-packages."""

IS_CHECKOUT = (IMPORTED_FROM / "build.py").is_file() and (IMPORTED_FROM / "pyproject.toml").is_file()
COMMAND = "build.py" if IS_CHECKOUT else "triton-ensembles"
"""The command that a user runs, for messages."""
SETUP = "make setup" if IS_CHECKOUT else "triton-ensembles setup"
"""The command that installs tritonserver, for messages."""

HOME_VARIABLE = "TRITON_ENSEMBLES_HOME"


def user_folder() -> Path:
    """The folder of what belongs to no project: tritonserver, and the Pythons of its steps.

    It is the one that the variable TRITON_ENSEMBLES_HOME names; else .triton/ of the checkout; else triton-ensembles/
    in the user's cache folder, which the XDG specification lets XDG_CACHE_HOME name.
    """
    if chosen := os.environ.get(HOME_VARIABLE):
        return Path(_expanded(chosen)).absolute()
    if IS_CHECKOUT:
        return IMPORTED_FROM / ".triton"
    home = Path(_expanded("~/.cache"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home)
    return (cache if cache.is_absolute() else home) / "triton-ensembles"


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - Path.expanduser raises where there is no home
