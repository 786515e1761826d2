"""model.py of Python models: what the stub needs (python_backend r24.10 src/pb_stub.cc). It is parsed, never run."""

import ast
import sys
from collections.abc import Iterator

from triton_ensembles.check.environments import environment_of
from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python_source import ParseError, PythonFile, every_file, model_files
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Server, rule
from triton_ensembles.spelling import nearest
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import image_of, version

SOURCE = "python_backend r24.10 src/pb_stub.cc"
CLASS = "TritonPythonModel"
GOOD = script_model(f"class {CLASS}:\n    def execute(self, requests):\n        return []\n")
_OWN_PYTHON = (sys.version_info.major, sys.version_info.minor)


def _python_of(model: Model, destination: Destination) -> tuple[int, ...]:
    """The Python that runs the model, () when it is unknown."""
    packed = environment_of(model)
    if packed and packed.pythons:
        return max(version(python) for python in packed.pythons)
    image = image_of(destination)
    return version(image.python) if image else ()


@rule(
    "model.py is valid Python",
    source=f"{SOURCE} StubSetup imports it",
    bad=script_model(f"class {CLASS}\n    def execute(self, requests):\n        return []\n"),
    words="SyntaxError: …",
)
def model_py_syntax(model: Model, destination: Destination) -> Iterator[Finding]:
    for file in every_file(model):
        if file.error and _python_of(model, destination) <= _OWN_PYTHON:
            yield Finding(
                file.place(file.error),
                f"this is not valid Python: {file.error.message}",
                cure="correct this line, or an unclosed bracket or quote above it",
            )


@rule(
    "The Python that runs the checker can parse model.py",
    source="the checker parses with the Python that runs it",
    severity=Severity.NOTE,
    server=Server.ACCEPTS,
)
def model_py_newer_syntax(model: Model, destination: Destination) -> Iterator[Finding]:
    python = _python_of(model, destination)
    for file in every_file(model):
        if file.error and python > _OWN_PYTHON:
            yield Finding(
                file.place(file.error),
                f"Python {'.'.join(map(str, _OWN_PYTHON))}, which runs the checker, cannot parse this: "
                f"{file.error.message}",
                f"it may be valid for Python {'.'.join(map(str, python))}, which runs the model; the file was not "
                "checked any further",
                f"run the checker with Python {'.'.join(map(str, python))}",
            )


@rule(
    f"model.py has a class {CLASS}",
    source=f"{SOURCE} Initialize",
    bad=script_model("class Model:\n    def execute(self, requests):\n        return []\n"),
    words="AttributeError: module '…' has no attribute 'TritonPythonModel'",
)
def model_py_no_class(model: Model) -> Iterator[Finding]:
    for file in model_files(model):
        if file.module is None or _binds(file.module, CLASS):
            continue
        classes = {node.name: node for node in file.module.body if isinstance(node, ast.ClassDef)}
        meant = nearest(CLASS, classes) or next(
            (name for name, node in classes.items() if any(_functions(node, "execute"))), None
        )
        yield Finding(
            file.place(classes[meant]) if meant else file.place(ParseError("", 1, 1)),
            f"there is no class {CLASS} in this file",
            cure=f"write class {CLASS}:"
            + (f" instead of {meant}" if meant else " with a method execute(self, requests)"),
        )


@rule(
    f"{CLASS} has a method execute",
    source=f"{SOURCE} ProcessRequests; measured on 2.51.0: the model loads",
    bad=script_model(f"class {CLASS}:\n    def run(self, requests):\n        return []\n"),
)
def model_py_no_execute(model: Model) -> Iterator[Finding]:
    for file, node in _classes(model):
        if any(_functions(node, "execute")) or not _is_complete(node) or _binds(node, "execute"):
            continue
        methods = [each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        meant = nearest("execute", methods)
        yield Finding(
            file.place(node),
            f"{CLASS} has no method execute",
            "the model loads, and every request fails: does not implement `execute` method",
            f"rename {meant} to execute" if meant else "write def execute(self, requests):",
        )


@rule(
    "execute takes self and requests",
    source=f'{SOURCE} ProcessRequests: attr("execute")(py_request_list)',
    bad=script_model(f"class {CLASS}:\n    def execute(self):\n        return []\n"),
)
def model_py_execute_arguments(model: Model) -> Iterator[Finding]:
    for file, node in _classes(model):
        for method in _functions(node, "execute"):
            decorators = {each.id for each in method.decorator_list if isinstance(each, ast.Name)}
            if len(decorators) < len(method.decorator_list) or decorators - {"staticmethod", "classmethod"}:
                continue  # another decorator may change the arguments
            own = 0 if "staticmethod" in decorators else 1
            takes = len(method.args.posonlyargs) + len(method.args.args)
            needs = takes - len(method.args.defaults) + sum(each is None for each in method.args.kw_defaults)
            if needs <= own + 1 and (takes >= own + 1 or method.args.vararg):
                continue
            arguments = f"{takes} argument" + ("s" if takes != 1 else "")
            yield Finding(
                file.place(method),
                f"execute takes {arguments}, and Triton calls it with {own + 1} (self and requests)"
                if own
                else f"execute takes {arguments}, and Triton calls it only with requests",
                "the model loads, and every request fails: TypeError",
                "write def execute(self, requests):",
            )


def _classes(model: Model) -> Iterator[tuple[PythonFile, ast.ClassDef]]:
    for file in model_files(model):
        for node in file.module.body if file.module else ():
            if isinstance(node, ast.ClassDef) and node.name == CLASS:
                yield file, node


def _functions(node: ast.ClassDef, name: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name:
            yield each


def _is_complete(node: ast.ClassDef) -> bool:
    """Whether the class is complete in its own text: no bases, no metaclass, no decorator."""
    bases = [each for each in node.bases if not (isinstance(each, ast.Name) and each.id == "object")]
    return not bases and not node.keywords and not node.decorator_list


def _binds(top: ast.Module | ast.ClassDef, name: str) -> bool:
    """Whether the name may be bound in this scope, also below ``if`` and ``try`` and by ``import *``."""
    waiting: list[ast.AST] = list(top.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name or (isinstance(top, ast.Module) and node.name == "__getattr__"):
                return True
            continue  # another scope
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return True
        if isinstance(node, ast.alias) and (node.asname or node.name) in (name, "*"):
            return True
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("globals", "exec", "setattr"):
            return True
        waiting += ast.iter_child_nodes(node)
    return False
