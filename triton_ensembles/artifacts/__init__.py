"""Makers of artifacts: each module makes one kind of artifact. A recipe names them.

A maker is a function that writes ``job.output`` and returns facts for the manifest. It runs in its own process
(``run.py``), so that frameworks do not meet and do not stay in memory. Its module has

* ``TOOLS``, the packages whose versions change its output,
* ``READS``, other files of the package that change its output, if there are any,
* ``DIFFERS_BY_DALI = True`` if its output depends on the target's DALI.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.artifact_kinds import ACCURACY_CHECKS, MAKERS, OWN_CHECK

# `import openvino` and NNCF report to their maker from a forked process, unless its package cannot be imported. Beside
# threads that process may never end, and it holds whatever was open, such as the locks of a build.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]

_OWN_CHECKS = {OWN_CHECK: "script:check"}

DERIVATIONS = {"mapped_weights": "mapped_weights:make", "openvino_ir": "openvino_ir:make"}
"""Functions of the same form that the build itself applies to a made model, for an engine that maps the weights of the
result. The output is a folder."""

Facts = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """The arguments of a maker."""

    output: Path  # the file to write
    files: dict[str, Path]  # the files of its source, and the artifact that it needs, by name
    file: str | None  # the name of the one file that a maker of one file reads
    options: dict[str, Any]  # those of the recipe
    dali_device: str = ""  # that decodes images on the target, "cpu" or "mixed"; "" unless the maker differs by it
    dali_version: str = ""  # the DALI that will read the output; "" for the installed one, or when it is unknown
    root: Path = Path()  # the folder of the project, which paths in options are relative to; caches are in its build/

    def source_file(self) -> Path:
        """The path of ``file``. Raises :class:`EnsembleError` when the recipe names no file."""
        if self.file is None:
            raise EnsembleError("this maker reads one file, and the recipe names none", cure="set `file`, or `needs`")
        return self.files[self.file]


def load_script(path: Path) -> ModuleType:
    """The module in the file ``path`` of the project."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_maker(name: str) -> tuple[ModuleType, Callable[[Job], Facts]]:
    """The module and the function of a maker, an accuracy check or a derivation."""
    module_name, _, function = (MAKERS | ACCURACY_CHECKS | _OWN_CHECKS | DERIVATIONS)[name].partition(":")
    module = importlib.import_module(f"{__name__}.{module_name}")
    return module, getattr(module, function)
