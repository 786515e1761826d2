"""The modules of a step as the stub finds them, in a process that has others."""

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from triton_ensembles.runtime.fused.python_step import StepModules
from triton_ensembles.testing.backend_utils import LATE


@cache
def _installed() -> Sequence[str]:
    """``sys.path`` of a Python that was just started, without what a test run has added."""
    code = "import json, sys; print(json.dumps(sys.path))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


class StubModules(StepModules):
    """Finds what is installed, then what is beside model.py, and last what only the tests import."""

    def __init__(self, folder: Path, utils: ModuleType) -> None:
        installed = _installed()
        super().__init__(folder, utils, len(installed))
        self._utils = utils
        self._path = [*installed, *(entry for entry in sys.path if entry not in installed)]
        beside = (path.stem for place in (folder, folder.parent) for path in place.iterdir())
        self._beside = frozenset(beside) - sys.stdlib_module_names

    def load(self) -> type[Any]:
        """The step's ``TritonPythonModel``. Raises what importing its model.py raises."""
        names = {name: vars(self._utils).pop(name) for name in LATE}
        importlib.invalidate_caches()
        try:
            return super().load()
        finally:
            vars(self._utils).update(names)

    def enter(self) -> None:
        mine = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in self._beside}
        self._others = {name: module for name, module in mine.items() if not _is_installed(module)}
        for name in self._others:
            del sys.modules[name]
        self._before = sys.path[:], sys.dont_write_bytecode
        sys.path[:], sys.dont_write_bytecode = self._path, True
        super().enter()

    def leave(self) -> None:
        super().leave()
        self._path = sys.path[:]
        sys.path[:], sys.dont_write_bytecode = self._before
        sys.modules.update(self._others)


def _is_installed(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None) or ""
    return any(entry and file.startswith(f"{entry}/") for entry in _installed())


class TestModules(StepModules):
    """The modules of the tests, for their functions that a step calls."""

    __test__ = False  # for pytest

    def __init__(self) -> None: ...

    def enter(self) -> None: ...

    def leave(self) -> None: ...
