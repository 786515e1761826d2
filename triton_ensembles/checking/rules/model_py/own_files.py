"""The names that the Python files of a model import from each other."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.python.examples import initializing_with_labels
from triton_ensembles.checking.python.expected import is_expected
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import dotted
from triton_ensembles.checking.python.source import (
    UTILS,
    PythonFile,
    every_file,
    model_files,
    modules_in,
    relative_folder,
)
from triton_ensembles.checking.rule import Example, Finding, Model, rule
from triton_ensembles.ground.spelling import suggestion

SOURCE = "python_backend r24.10 src/pb_stub.cc StubSetup: model.py is a module of the package 1, its version folder"
GOOD = initializing_with_labels("from .model import pb_utils")
_OF_STUB = ("deserialize_bytes_tensor", "serialize_byte_tensor")  # which pb_stub.cc takes from the module
_HELPED = {"1/model.py": f"from helper import scale\n{IDENTITY}"}


@rule(
    "A relative import names a file of the model",
    bad=initializing_with_labels("from .utils import scale"),
    words="No module named '1.utils'",
)
def model_py_relative_import(model: Model) -> Iterator[Finding]:
    first = {file.path for file in model_files(model)}
    for file in every_file(model):
        for node in file.nodes:
            if not isinstance(node, ast.ImportFrom) or not flow_of(file).when(node).is_certain:
                continue
            if node.level > 1 and file.path in first:
                message = f"{'.' * node.level} leads out of the version folder, which is the topmost package"
                effect = f"{When.LOAD.effect}: ImportError: attempted relative import beyond top-level package"
                cure = "write the import without the dots: the model's folder is in sys.path as well"
                yield Finding(file.place(node), message, effect, cure)
                continue
            folder = relative_folder(file.path, node.level)
            for name in _missing(model, folder, node) if node.level and folder else ():
                message = f"there is no '{name}' in the folder '{folder}'"
                effect = f"{When.LOAD.effect}: {'ModuleNotFoundError' if node.module else 'ImportError'}"
                yield Finding(file.place(node), message, effect, f"add {name}.py to the folder, or correct the name")


def _missing(model: Model, folder: str, node: ast.ImportFrom) -> list[str]:
    """Return the names of ``from .NAME import …`` or ``from . import NAME, …`` that the folder does not have."""
    modules = modules_in(model, folder)
    if node.module:
        names = [node.module.partition(".")[0]]
    else:  # what __init__.py defines is not known
        names = [] if "__init__" in modules else [alias.name for alias in node.names if alias.name != "*"]
    return [name for name in names if name not in modules]


@rule(
    "The Python files of a model have the names that the others take from them",
    bad=Example(python_model(), {**_HELPED, "1/helper.py": "def scaled(x):\n    return x\n"}),
    good=Example(python_model(), {**_HELPED, "1/helper.py": "def scale(x):\n    return x\n"}),
    words="ImportError: cannot import name 'scale' from 'helper'",
)
def model_py_own_name(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for node, name, target in _taken(file):
            known = _names(model, file, target)
            when = flow_of(file).when(node, loops_run=True)
            if known is None or name in known or not when.is_certain or is_expected(file, node):
                continue
            error = f"ImportError: cannot import name '{name}'"
            if isinstance(node, ast.Attribute):
                error = f"AttributeError: module has no attribute '{name}'"
            cure = suggestion(name, known) or "define it there, or correct the name"
            yield Finding(file.place(node), f"{target.path} has no '{name}'", f"{when.effect}: {error}", cure)
        names = file.scopes.bound_in(file.module) if file.module and file.path.endswith(f"{UTILS}.py") else None
        for name in _OF_STUB if names is not None else ():
            if name not in (names or ()):
                message = f"this file takes the place of Triton's own module, and it has no '{name}'"
                effect = f"{When.LOAD.effect}: module '{UTILS}' has no attribute '{name}'"
                yield Finding(file.place(ast.Pass()), message, effect, "delete it: the server brings the module")
                break


def _taken(file: PythonFile) -> Iterator[tuple[ast.AST, str, PythonFile]]:
    """Yield the names that a file takes from others of the model, by import and by attribute."""
    for node in file.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                target, inner = file.own.get(alias.asname or alias.name, (file, ""))
                if inner == alias.name != "*":
                    yield node, inner, target
        elif isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
            name = dotted(node.value)
            target, inner = file.own.get(name, (file, ""))
            if target is not file and not inner and len(file.scopes.everywhere(name.partition(".")[0])) == 1:
                yield node, node.attr, target


def _names(model: Model, file: PythonFile, target: PythonFile) -> set[str] | None:
    """Return all names that a file may have, the modules of its folder among them; None when they may be any."""
    bound = target.scopes.bound_in(target.module) if target.module else None
    if bound is None or target.path.endswith(f"{UTILS}.py"):  # the stub adds names to Triton's module
        return None
    names = {name for part in file.together for name in part.scopes.attributes}
    is_package = target.path.endswith("/__init__.py")
    return {*bound, *names, *(modules_in(model, relative_folder(target.path, 1)) if is_package else ())}
