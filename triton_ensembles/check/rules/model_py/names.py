"""Names that model.py uses and that nothing defines: by itself, or in Triton's module pb_utils."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from pyflakes.checker import Checker
from pyflakes.messages import UndefinedName

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, When, flow_of
from triton_ensembles.check.python.source import UTILS, PythonFile, every_file
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.spelling import nearest
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import image_of, version

SOURCE = "pyflakes; Python raises NameError when the line runs"
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
_LOAD = "    def initialize(self, args):\n        self.config = {}\n\n"
# python_backend, branches r22.07 to r26.07: triton_python_backend_utils.py and what pb_stub.cc adds to it.
_NAMES = frozenset(
    {"InferenceRequest", "InferenceResponse", "ModelConfig", "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START", "TRITONSERVER_RESPONSE_COMPLETE_FINAL", "TRITON_STRING_TO_NUMPY",
    "Tensor", "TritonError", "TritonModelException", "deserialize_bytes_tensor", "get_input_config_by_name",
    "get_input_tensor_by_name", "get_output_config_by_name", "get_output_tensor_by_name", "json", "np",
    "numpy_to_triton_type", "serialize_byte_tensor", "shared_memory", "struct", "triton_string_to_numpy",
    "triton_to_numpy_type", "using_decoupled_model_transaction_policy"}
)  # fmt: skip
_SINCE = {
    **dict.fromkeys(("Logger",), "22.09"),
    **dict.fromkeys(("PreferredMemory", "TRITONSERVER_MEMORY_CPU", "TRITONSERVER_MEMORY_GPU"), "23.04"),
    **dict.fromkeys(("MetricFamily",), "23.05"),
    **dict.fromkeys(("get_model_dir", "is_model_ready", "load_model", "unload_model"), "23.07"),
    **dict.fromkeys(("TRITONSERVER_REQUEST_RELEASE_ALL", "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE"), "23.11"),
}
_LOGGER = frozenset({"log", "log_info", "log_warn", "log_error", "log_verbose", "INFO", "WARNING", "ERROR", "VERBOSE"})
_LOGGER_ENUM = "LogLevel"
FAILS = {When.LOAD: "Triton does not load the model", When.REQUEST: "the model loads, and every request fails"}
_ASKING = frozenset({"hasattr", "isinstance", "getattr", "type", "callable"})
LATER = "it fails when this line runs"
_OF_MODULES = frozenset(dir(object)) | {"__name__", "__file__", "__doc__", "__dict__", "__path__", "__spec__"}


@rule(
    "Every name that model.py surely uses is defined or imported",
    bad=script_model(f"class {CLASS}:\n{_LOAD.replace('{}', 'np.zeros(4)')}{EXECUTE}"),
    words="NameError: name 'np' is not defined",
)
def model_py_undefined_name(model: Model) -> Iterator[Finding]:
    yield from _undefined(model, certain=True)


@rule(
    "Every name that model.py may use is defined or imported",
    bad=script_model(f"class {CLASS}:\n{EXECUTE}\n    def shape(self):\n        return np.zeros(4)\n"),
    severity=Severity.WARNING,
)
def model_py_undefined_name_later(model: Model) -> Iterator[Finding]:
    yield from _undefined(model, certain=False)


def _undefined(model: Model, certain: bool) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for file in every_file(model):
        for node, defined in _undefined_names(file):
            when = flow_of(file).when(node)
            function = flow_of(file).function(node)
            if node.id == "requests" and function and function.name == "execute" and len(function.args.args) < 2:
                continue  # model-py-execute-arguments: it does not take them
            if (when in FAILS) is certain and (file.path, node.id) not in seen:
                seen.add((file.path, node.id))
                meant = nearest(node.id, defined)
                yield Finding(
                    file.place(node),
                    f"the name '{node.id}' is not defined",
                    f"{FAILS.get(when, LATER)}: NameError: name '{node.id}' is not defined",
                    _import_of(node.id) or (f"did you mean '{meant}'?" if meant else "define or import it"),
                )


def _import_of(name: str) -> str:
    usual = {"np": "import numpy as np", "pb_utils": f"import {UTILS} as pb_utils", "Path": "from pathlib import Path"}
    modules = (
        "json",
        "os",
        "sys",
        "time",
        "math",
        "re",
        "io",
        "base64",
        "torch",
        "logging",
        "random",
        "asyncio",
        "cv2",
    )
    return f"add {usual.get(name, f'import {name}')}" if name in usual or name in modules else ""


@lru_cache(maxsize=256)
def _undefined_names(file: PythonFile) -> list[tuple[ast.Name, frozenset[str]]]:
    """Each use of a name that is not defined anywhere, with the names that the file defines."""
    module = file.module
    if module is None or _is_dynamic(file.nodes):
        return []
    try:
        found = [each for each in Checker(module, file.path).messages if isinstance(each, UndefinedName)]
    except (RecursionError, MemoryError):
        return []
    wanted = {(each.lineno, each.col, each.message_args[0]) for each in found}
    evaluated = _evaluated_names(module) if wanted else []
    names = frozenset(each.id for each in ast.walk(module) if isinstance(each, ast.Name)) if wanted else frozenset()
    names -= {name for _, _, name in wanted}
    return [(node, names) for node in evaluated if (node.lineno, node.col_offset, node.id) in wanted]


def _evaluated_names(module: ast.Module) -> list[ast.Name]:
    """The names that Python looks up: not those of annotations that are never evaluated."""
    postponed = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(a.name == "annotations" for a in node.names)
        for node in module.body
    )
    found: list[ast.Name] = []
    waiting: list[tuple[ast.AST, bool]] = [(module, False)]
    while waiting:
        node, in_function = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.append(node)
        inner = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for name, value in ast.iter_fields(node):
            skipped = name in ("annotation", "returns") and (
                postponed or (in_function and isinstance(node, ast.AnnAssign))
            )
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not skipped:
                    waiting.append((child, inner))
    return found


def _is_dynamic(nodes: tuple[ast.AST, ...]) -> bool:
    """Whether names may be defined in a way that the text does not show."""
    return any(
        isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id in ("globals", "exec", "vars", "setattr", "__import__"))
            or (isinstance(node.func, ast.Attribute) and node.func.attr == "__setattr__")
        )
        for node in nodes
    ) or any(isinstance(node, ast.Name | ast.Attribute) and _is_builtins(node) for node in nodes)


def _is_builtins(node: ast.Name | ast.Attribute) -> bool:
    return (node.id if isinstance(node, ast.Name) else node.attr) in ("builtins", "__builtins__")


@rule(
    "Triton's module pb_utils has the names that model.py takes from it",
    source="python_backend, branches r22.07 to r26.07: triton_python_backend_utils.py, src/pb_stub.cc",
    bad=script_model(f"class {CLASS}:\n{EXECUTE.replace('pb_utils.Tensor', 'pb_utils.OutputTensor')}"),
)
def model_py_unknown_attribute(model: Model, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    for file in every_file(model):
        if file.module is None or is_guarded(file):
            continue
        for node, name in _taken(file):
            when = flow_of(file).when(node, loops_run=True)
            since = _SINCE.get(name)
            late = since and image and version(since) > version(image.release)
            if when is When.PERHAPS or ((name in _NAMES or since) and not late) or name in _OF_MODULES:
                continue
            meant = nearest(name, {*_NAMES, *_SINCE})
            yield Finding(
                file.place(node),
                f"pb_utils has '{name}' since release {since}, and this image is {image.release}"
                if image and since
                else f"{UTILS} has no '{name}'",
                f"{FAILS.get(when, LATER)}: module '{UTILS}' has no attribute '{name}'",
                f"write {meant}" if meant else "the README of python_backend lists what it has",
            )


@rule(
    "pb_utils.Logger has the methods that model.py calls",
    source="python_backend r24.10 src/pb_stub.cc, class Logger",
    bad=script_model(
        f"class {CLASS}:\n" + EXECUTE.replace("requests):\n", 'requests):\n        pb_utils.Logger.info("one")\n')
    ),
)
def model_py_logger(model: Model) -> Iterator[Finding]:
    for file in every_file(model):
        for node in file.nodes if not is_guarded(file) else ():
            if not isinstance(node, ast.Attribute) or file.full_name(node.value) != f"{UTILS}.Logger":
                continue
            when = flow_of(file).when(node, loops_run=True)
            if node.attr in _LOGGER or node.attr == _LOGGER_ENUM or node.attr.startswith("__") or when is When.PERHAPS:
                continue
            usual = {"warning": "log_warn", "warn": "log_warn", "debug": "log_verbose", "exception": "log_error"}
            meant = usual.get(node.attr) or nearest(f"log_{node.attr}", _LOGGER) or "log_info"
            yield Finding(
                file.place(node),
                f"pb_utils.Logger has no '{node.attr}'",
                f"{FAILS.get(when, LATER)}: type object 'Logger' has no attribute '{node.attr}'",
                f"write pb_utils.Logger.{meant}(…)",
            )


def _taken(file: PythonFile) -> Iterator[tuple[ast.AST, str]]:
    """What the file takes from Triton's module, by attribute and by import."""
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and file.full_name(node.value) == UTILS:
            yield node, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == UTILS and not node.level:
            yield from ((node, alias.name) for alias in node.names if alias.name != "*")


@lru_cache(maxsize=128)
def is_guarded(file: PythonFile) -> bool:
    """Whether the file looks for names itself, puts some into the module, or binds its name to something else."""
    bound = {name for name, full in file.names.items() if full == UTILS}
    for node in file.nodes:
        if (
            isinstance(node, ast.Attribute)
            and not isinstance(node.ctx, ast.Load)
            and file.full_name(node.value) == UTILS
        ):
            return True
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in bound:
            return True
        if isinstance(node, ast.arg) and node.arg in bound:
            return True
        asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "setattr")
        if asks and node.args and file.full_name(node.args[0]).startswith(UTILS):  # type: ignore[attr-defined]
            return True
    return False


def is_expected(file: PythonFile, node: ast.AST) -> bool:
    """Whether the file asks first what the object has, or catches the error."""
    for parent, child in flow_of(file).above(node):
        if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.BoolOp):
            tests = parent.values if isinstance(parent, ast.BoolOp) else [parent.test]
            asked = (each for test in tests if test is not child for each in ast.walk(test))
            if any(isinstance(each, ast.Name) and each.id in _ASKING for each in asked):
                return True
        if isinstance(parent, ast.With | ast.AsyncWith) and flow_of(file).suppresses(parent):
            return True
        if isinstance(parent, ast.Try | ast.TryStar) and flow_of(file).in_body(child, parent):
            caught = {getattr(each, "id", "") for one in parent.handlers if one.type for each in ast.walk(one.type)}
            if caught & {"AttributeError", "TypeError"} or any(one.type is None for one in parent.handlers):
                return True
    return False
