"""What model.py does with Triton's objects: methods that they do not have, or that are not called."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python_flow import CLASS, flow_of
from triton_ensembles.check.python_kinds import (
    ARGS,
    CODES,
    DICTIONARIES,
    ERROR,
    METHOD,
    METHODS,
    NUMBER,
    TENSOR,
    TEXT,
    USUAL,
)
from triton_ensembles.check.python_source import PythonFile, every_file
from triton_ensembles.check.python_types import Types, types_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py import EXECUTE
from triton_ensembles.check.rules.model_py_names import FAILS, LATER, is_guarded
from triton_ensembles.spelling import nearest

SOURCE = "python_backend, branches r22.07 to r26.07: src/pb_stub.cc; measured on 2.51.0"
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
_OF_OBJECTS = frozenset(dir(object)) | {"__dlpack__", "__dlpack_device__", "__dict__"}
_NOT_SUBSCRIPTABLE = frozenset({*METHODS, METHOD})
_UNSUPPORTED = "TypeError: unsupported operand type(s)"
_ASKING = frozenset({"hasattr", "isinstance", "getattr", "type", "callable"})


@rule(
    "Triton's objects have the methods that model.py surely calls",
    bad=script_model(f"class {CLASS}:\n{EXECUTE.replace('x.as_numpy()', 'x.numpy()')}"),
)
def model_py_object_use(model: Model) -> Iterator[Finding]:
    yield from _misused(model, certain=True)


@rule(
    "Triton's objects have the methods that model.py may call",
    bad=script_model(
        f"class {CLASS}:\n{EXECUTE}\n    def shape(self, request):\n"
        '        return pb_utils.get_input_tensor_by_name(request, "X").shape[0]\n'
    ),
    severity=Severity.WARNING,
)
def model_py_object_use_later(model: Model) -> Iterator[Finding]:
    yield from _misused(model, certain=False)


def _misused(model: Model, certain: bool) -> Iterator[Finding]:
    for file in every_file(model):
        if file.module is None or is_guarded(file):
            continue
        types = types_of(file)
        for node in file.nodes:
            if not isinstance(node, ast.Attribute | ast.Subscript | ast.For | ast.comprehension | ast.BinOp):
                continue
            found = _misuse(types, node)
            if not found:
                continue
            place = node.iter if isinstance(node, ast.comprehension) else node
            when = flow_of(file).when(place, loops_run=True)
            if (when in FAILS) is certain and not _is_expected(file, place):
                message, error, cure = found
                yield Finding(file.place(place), message, f"{FAILS.get(when, LATER)}: {error}", cure)


def _misuse(types: Types, node: ast.AST) -> tuple[str, str, str] | None:
    """What is wrong, the error of Python, and the cure."""
    if isinstance(node, ast.Attribute):
        return _attribute(types, node) if isinstance(node.ctx, ast.Load) else None
    if isinstance(node, ast.Subscript):
        return _subscript(types, node) if isinstance(node.ctx, ast.Load) else None
    if isinstance(node, ast.For | ast.comprehension):
        found = types.kind(node.iter)
        if found and found.name in _NOT_SUBSCRIPTABLE:
            return _uncalled(node.iter, found.name, "TypeError: object is not iterable")
    if isinstance(node, ast.BinOp):
        return _calculation(types, node)
    return None


def _calculation(types: Types, node: ast.BinOp) -> tuple[str, str, str] | None:
    names = [each.name if each else "" for each in (types.kind(node.left), types.kind(node.right))]
    if NUMBER in names and (TENSOR in names or METHOD in names):
        left = names[0] in (TENSOR, METHOD)
        return _uncalled(node.left if left else node.right, names[0 if left else 1], _UNSUPPORTED)
    if set(names) == {TEXT, NUMBER} and isinstance(node.op, ast.Add | ast.Sub):
        return "this is a text, and not a number", _UNSUPPORTED, "write int(…) around it"
    return None


def _attribute(types: Types, node: ast.Attribute) -> tuple[str, str, str] | None:
    found = types.kind(node.value)
    if found is None or node.attr in _OF_OBJECTS:
        return None
    error = f"AttributeError: object has no attribute '{node.attr}'"
    if found.name == METHOD:
        return _uncalled(node.value, METHOD, error)
    if found.name in DICTIONARIES and node.attr not in dir(dict):
        if node.attr == "keys" or node.attr.startswith("__"):
            return None
        return (
            f"{found.name} are a dictionary, which has no '{node.attr}'"
            if found.name == ARGS
            else f"{found.name} is a dictionary, which has no '{node.attr}'",
            error,
            f'write ["{node.attr}"]',
        )
    if found.name not in METHODS or node.attr in METHODS[found.name] or (found.name == ERROR and node.attr in CODES):
        return None
    usual = USUAL.get(found.name, {}).get(node.attr, "").format(node.attr)
    meant = usual or (f"{near}()" if (near := nearest(node.attr, METHODS[found.name])) else "")
    return (
        f"{found.name} has no '{node.attr}'",
        error,
        f"write {meant}" if meant else f"it has {', '.join(f'{name}()' for name in sorted(METHODS[found.name]))}",
    )


def _subscript(types: Types, node: ast.Subscript) -> tuple[str, str, str] | None:
    found = types.kind(node.value)
    if found is None:
        return None
    if found.name in _NOT_SUBSCRIPTABLE:
        return _uncalled(node.value, found.name, "TypeError: object is not subscriptable")
    if found.name == TEXT and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return (
            "this is a text, which has no keys",
            "TypeError: string indices must be integers",
            "read it with json.loads first",
        )
    return None


def _uncalled(node: ast.expr, name: str, error: str) -> tuple[str, str, str]:
    """A method in place of what it gives, or a tensor in place of its array."""
    written = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""
    if name == METHOD:
        return f"{written or 'this'} is a method, and it is not called", error, f"write {written}()"
    cure = {TENSOR: "as_numpy()", "an InferenceRequest": "inputs()", "an InferenceResponse": "output_tensors()"}.get(
        name
    )
    return f"{written or 'this'} is {name}, and no list or array", error, f"call its {cure or 'methods'}"


def _is_expected(file: PythonFile, node: ast.AST) -> bool:
    """Whether the file asks first what the object has, or catches the error."""
    for parent, child in flow_of(file).above(node):
        if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.BoolOp):
            tests = parent.values if isinstance(parent, ast.BoolOp) else [parent.test]
            asked = (each for test in tests if test is not child for each in ast.walk(test))
            if any(isinstance(each, ast.Name) and each.id in _ASKING for each in asked):
                return True
        if isinstance(parent, ast.Try | ast.TryStar) and child in parent.body:
            caught = {getattr(each, "id", "") for one in parent.handlers if one.type for each in ast.walk(one.type)}
            if caught & {"AttributeError", "TypeError"} or any(one.type is None for one in parent.handlers):
                return True
    return False
