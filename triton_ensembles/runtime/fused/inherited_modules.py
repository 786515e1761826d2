"""The modules that a forked process has of the one before, made those of its own ensemble."""

import sys
from pathlib import Path

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.fused import calls


def forget_stub(folder: Path) -> None:
    """The threads that send log lines and metrics to the server are in the stub of the version folder ``folder``, not
    in this process."""
    vars(pb_utils).update(Logger=calls.Logger, MetricFamily=calls.MetricFamily)
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]  # "1.model", as the steps' own modules are called
    if not hasattr(sys.modules.get("asyncio"), "__path__"):  # the stub's, for Triton only
        sys.modules.pop("asyncio", None)


def move_modules(old: Path, new: str) -> None:
    """Let the modules that were imported from the folder ``old`` find their other parts and files in ``new``."""

    def moved(path: str) -> str:
        return f"{new}{path[len(str(old)) :]}" if f"{path}/".startswith(f"{old}/") else path

    sys.path[:] = map(moved, sys.path)
    for module in list(sys.modules.values()):
        spec = module.__dict__.get("__spec__")
        for owner, name in ((module, "__file__"), (spec, "origin"), (getattr(spec, "loader", None), "path")):
            path = getattr(owner, "__dict__", {}).get(name)
            if isinstance(path, str) and path != moved(path):
                setattr(owner, name, moved(path))
        for folders in (module.__dict__.get("__path__"), getattr(spec, "submodule_search_locations", None)):
            if isinstance(folders, list):
                folders[:] = map(moved, folders)
