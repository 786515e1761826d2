"""Triton ensembles for SageMaker multi-model endpoints: built, checked, served and deployed.

The names in ``__all__`` are meant for import; docs/python.md has an example of each. They are imported when they are
first used, so that ``import triton_ensembles`` is fast and needs no more than Python.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from triton_ensembles.api import build, check, clone, diff, graph, measure
    from triton_ensembles.endpoint.local import LocalEndpoint
    from triton_ensembles.errors import EnsembleError
    from triton_ensembles.recipe.reader import read_recipe
    from triton_ensembles.triton.server import TritonServer

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
    "EnsembleError": "errors",
    "LocalEndpoint": "endpoint.local",
    "TritonServer": "triton.server",
    "read_recipe": "recipe.reader",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        from triton_ensembles.extras import missing_extra

        if missing := missing_extra(error, name):
            raise ImportError(str(missing)) from error
        raise


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Subpackage(ModuleType):
    """A room of this package that has the name of a function: ``check`` and ``graph``. It can be called as the
    function, because whichever is imported first, ``from triton_ensembles import check`` then finds the room."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return __getattr__(self.__name__.rpartition(".")[2])(*arguments, **options)


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name in _MODULES and isinstance(value, ModuleType):
            value.__class__ = _Subpackage
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
