"""Names that model.py uses and that nothing defines: neither the file nor Triton's module pb_utils."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from pyflakes.checker import Checker
from pyflakes.messages import UndefinedName

from triton_ensembles.checking.python.examples import EXECUTE, class_model, initializing
from triton_ensembles.checking.python.expected import is_guarded
from triton_ensembles.checking.python.flow import Misuse, When, flow_of
from triton_ensembles.checking.python.nodes import Function, is_changed
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_file, model_files
from triton_ensembles.checking.rule import Destination, Finding, Model, Severity, rule
from triton_ensembles.ground.spelling import listed, nearest, only_near, suggestion
from triton_ensembles.triton.backends import STUB_BRANCHES
from triton_ensembles.triton.pb_utils import pb_utils
from triton_ensembles.triton.releases import image_of, version

SOURCE = "pyflakes; Python raises NameError when the line runs"
GOOD = class_model()
_WITH_CONSTANTS = ("Logger", "MetricFamily", "TritonError")  # classes of which static names are taken
# Set by pb_stub.cc StubSetup after it has imported model.py (server issue #6535), as is what came in later releases.
_SET_LATER = frozenset({"InferenceRequest", "InferenceResponse", "Tensor", "TritonError", "TritonModelException"})
_USUAL_OF_LOGGER = {"warning": "log_warn", "warn": "log_warn", "debug": "log_verbose", "exception": "log_error"}
_USUAL_OF_UTILS = {"get_model_config": 'json.loads(args["model_config"])'}
_USUAL_MODULES = frozenset(
    {"json", "os", "sys", "time", "math", "re", "io", "base64", "torch", "logging", "random", "asyncio", "cv2"}
)
_DEFINING = frozenset({"globals", "exec", "vars", "setattr", "__import__"})
_OF_MODULES = frozenset(dir(object)) | {"__name__", "__file__", "__doc__", "__dict__", "__path__", "__spec__"}


@rule(
    "Every name that model.py certainly uses is defined or imported",
    bad=initializing("self.config = np.zeros(4)"),
    words="NameError: name 'np' is not defined",
    lower=Severity.WARNING,
)
def model_py_undefined_name(model: Model) -> Iterator[Finding]:
    """Yield a warning where the line may never run."""
    seen: set[tuple[str, str, bool]] = set()
    for file in every_file(model):
        flow = flow_of(file)
        for node, defined in _undefined_names(file):
            function = flow.scopes.function(node)
            if node.id == "requests" and function and function.name == "execute" and len(function.args.args) < 2:
                continue  # model-py-execute-arguments: it does not take them
            when = flow.when(node)
            if (file.path, node.id, when.is_certain) not in seen:
                seen.add((file.path, node.id, when.is_certain))
                cure = _import_of(node.id) or suggestion(node.id, defined) or "define or import it"
                error = f"NameError: name '{node.id}' is not defined"
                misuse = Misuse(f"the name '{node.id}' is not defined", error, cure)
                yield misuse.finding(file.place(node), when, when.is_certain)


def _import_of(name: str) -> str:
    usual = {"np": "import numpy as np", "pb_utils": f"import {UTILS} as pb_utils", "Path": "from pathlib import Path"}
    statement = usual.get(name) or (f"import {name}" if name in _USUAL_MODULES else "")
    return f"add {statement}" if statement else ""


@lru_cache(maxsize=256)
def _undefined_names(file: PythonFile) -> list[tuple[ast.Name, frozenset[str]]]:
    """Return the uses of names that are not defined anywhere, each with the names that the file defines."""
    module = file.module
    if module is None or _is_dynamic(file):
        return []
    try:
        messages = [message for message in Checker(module, file.path).messages if isinstance(message, UndefinedName)]
    except (RecursionError, MemoryError):
        return []
    if not messages:
        return []
    undefined = {(message.lineno, message.col, message.message_args[0]) for message in messages}
    names = frozenset(node.id for node in file.nodes if isinstance(node, ast.Name)) - {name for _, _, name in undefined}
    nodes = (node for node in file.nodes if isinstance(node, ast.Name) and not is_changed(node))
    uses = [node for node in nodes if (node.lineno, node.col_offset, node.id) in undefined]
    uses.sort(key=lambda node: (node.lineno, node.col_offset))
    return [(node, names) for node in uses if _is_looked_up(file, node)]


def _is_looked_up(file: PythonFile, node: ast.AST) -> bool:
    """Return whether Python looks up a name: not in an annotation that is never evaluated."""
    for parent, child in file.scopes.above(node):
        if child in (getattr(parent, "annotation", None), getattr(parent, "returns", None)):
            is_local = isinstance(parent, ast.AnnAssign) and file.scopes.function(parent)
            if is_local or _are_postponed(file):
                return False
    return True


@lru_cache(maxsize=256)
def _are_postponed(file: PythonFile) -> bool:
    """Return whether the file's annotations are never evaluated: ``from __future__ import annotations``."""
    imports = (node for node in file.nodes if isinstance(node, ast.ImportFrom) and node.module == "__future__")
    return any(alias.name == "annotations" for node in imports for alias in node.names)


def _is_dynamic(file: PythonFile) -> bool:
    """Return whether names may be defined in a way that the text does not show."""
    is_of_all = any(map(flow_of(file).is_used, ("builtins", "__builtins__", "__setattr__")))
    return is_of_all or not file.called.isdisjoint(_DEFINING)


@rule(
    "Triton's module pb_utils has the names that model.py takes from it",
    source=f"python_backend, branches {STUB_BRANCHES}: triton_python_backend_utils.py, src/pb_stub.cc",
    bad=class_model(EXECUTE.replace("pb_utils.Tensor", "pb_utils.OutputTensor")),
)
def model_py_unknown_attribute(model: Model, destination: Destination) -> Iterator[Finding]:
    if not model.is_python:
        return
    image, known = image_of(destination), pb_utils().since
    dotted = {f"{owner}.{name}" for owner in _WITH_CONSTANTS for name in pb_utils().members[owner]}
    late = {name for name, since in known.items() if since and not name.startswith("TRITONSERVER_REQUEST")} | _SET_LATER
    imported = {file.path for file in model_files(model)} if destination.device != "fused" else set()
    for file in every_file(model):
        if file.module is None or is_guarded(file):
            continue
        early: dict[str, ast.AST] = {}
        for node, name in _taken(file):
            when = flow_of(file).when(node, loops_run=True)
            owner, _, last = name.rpartition(".")
            if when is When.PERHAPS or last in _OF_MODULES:
                continue
            if (owner or name) in late and file.path in imported and _runs_at_import(file, node):
                early.setdefault(owner or name, node)
                continue
            since = "" if name in dotted else known.get(name)
            if since == "" or (since and (not image or version(since) <= version(image.release))):
                continue
            message = f"{UTILS} has no '{name}'"
            if since and image:
                message = f"pb_utils has '{name}' since release {since}, and this image is {image.release}"
            usual = _USUAL_OF_LOGGER.get(last) if owner == "Logger" else _USUAL_OF_UTILS.get(name)
            meant = f"{owner}.{usual}".strip(".") if usual else nearest(name, dotted if owner else known)
            cure = f"write {meant}" if meant else "the README of python_backend lists what it has"
            where = f"type object '{owner}'" if owner else f"module '{UTILS}'"
            edits = file.renamed(node, last, None if owner else only_near(last, known))
            effect = f"{when.effect}: {where} has no attribute '{last}'"
            yield Finding(file.place(node), message, effect, cure, edits=edits)
        if early:
            message = f"the stub gives pb_utils {listed(early)} only after the import of model.py, which runs this line"
            effect = f"{When.LOAD.effect}: module '{UTILS}' has no attribute '{next(iter(early))}'"
            cure = "use it inside a method, or write an annotation in quotes"
            yield Finding(file.place(next(iter(early.values()))), message, effect, cure)


def _runs_at_import(file: PythonFile, node: ast.AST) -> bool:
    """Return whether a node of model.py runs while the file is imported, as annotations do."""
    above = file.scopes.above(node)
    is_inside = any(isinstance(parent, Function) and file.scopes.in_body(child, parent) for parent, child in above)
    return flow_of(file).when(node) is When.LOAD and not is_inside and _is_looked_up(file, node)


def _taken(file: PythonFile) -> Iterator[tuple[ast.AST, str]]:
    """Yield the names that the file takes from Triton's module, by attribute and by import."""
    for node in file.nodes:
        if isinstance(node, ast.Attribute):
            owner = file.full_name(node.value)
            if owner == UTILS and isinstance(node.value, ast.Name):
                yield node, node.attr
            elif owner.removeprefix(f"{UTILS}.") in _WITH_CONSTANTS and owner.startswith(UTILS):
                yield node, f"{owner.removeprefix(f'{UTILS}.')}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == UTILS and not node.level:
            yield from ((node, alias.name) for alias in node.names if alias.name != "*")
