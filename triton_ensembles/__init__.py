"""Triton ensembles for SageMaker multi-model endpoints: built, checked, served and deployed.

The names in ``__all__`` are meant for import; docs/python.md has an example of each. They are imported when they are
first used, so that ``import triton_ensembles`` is fast and needs no more than Python.
"""

import importlib
from typing import TYPE_CHECKING, Any

from triton_ensembles.checking.extensions import EXTENSIONS
from triton_ensembles.version import __version__ as __version__

if TYPE_CHECKING:
    from triton_ensembles.api import build, check, clone, diff, graph, measure
    from triton_ensembles.endpoint.local import LocalEndpoint
    from triton_ensembles.ground.errors import EnsembleError
    from triton_ensembles.project.recipe.reader import read_recipe
    from triton_ensembles.server.triton_server import TritonServer

__all__ = [
    "EnsembleError",
    "LocalEndpoint",
    "TritonServer",
    "build",
    "check",
    "clone",
    "diff",
    "graph",
    "measure",
    "read_recipe",
]

_MODULES = dict.fromkeys(__all__, "api") | {
    "EnsembleError": "ground.errors",
    "LocalEndpoint": "endpoint.local",
    "TritonServer": "server.triton_server",
    "read_recipe": "project.recipe.reader",
}

EXTENSIONS.append(f"{__name__}.recipe_rules")  # what the checker knows of recipes


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        from triton_ensembles.ground.extras import missing_extra

        if missing := missing_extra(error, name):
            raise ImportError(str(missing)) from error
        raise


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
