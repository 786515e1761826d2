"""The modules of one step, kept apart from those of the others: two steps may both have a ``helper.py``.

In the drawn form each step has a process of its own, whose ``sys.path`` ends with the step's version folder and its
model folder.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any


class StepModules:
    """Modules that a step imports from its version folder, in ``sys.modules`` only while the step runs.

    It gets ``utils`` when it imports ``triton_python_backend_utils``.
    """

    def __init__(self, folder: Path, utils: ModuleType) -> None:
        self._folders = [str(folder), str(folder.parent)]
        # The stub imports model.py as "1.model", so that relative imports find its neighbors.
        package = ModuleType(folder.name)
        package.__path__ = [str(folder)]
        self._entry = f"{folder.name}.model"
        self._own: dict[str, ModuleType] = {"triton_python_backend_utils": utils, folder.name: package}

    def load(self) -> type[Any]:
        """The step's ``TritonPythonModel``. Raises what importing its model.py raises."""
        with self.active():
            model: type[Any] = importlib.import_module(self._entry).TritonPythonModel
            return model

    @contextmanager
    def active(self) -> Iterator[None]:
        """Imports inside the context are those of the step."""
        hidden = {name: sys.modules[name] for name in self._own if name in sys.modules}
        sys.modules.update(self._own)
        sys.path += self._folders
        before = len(sys.modules)
        try:
            yield
        finally:
            for folder in self._folders:
                sys.path.remove(folder)
            if len(sys.modules) != before:
                self._own.update((name, module) for name, module in list(sys.modules.items()) if self._is_own(name))
            for name in self._own:
                sys.modules.pop(name, None)
            sys.modules.update(hidden)

    def _is_own(self, name: str) -> bool:
        module = sys.modules[name]
        places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
        return any(place.startswith(f"{self._folders[1]}/") for place in places)
