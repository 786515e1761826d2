"""What model.py does with Triton's objects: methods that they do not have, or that are not called."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, flow_of
from triton_ensembles.check.python.kinds import (
    ARGS,
    ARRAY,
    BYTES,
    CODES,
    COROUTINE,
    DICT,
    DICTIONARIES,
    ERROR,
    LIST,
    METHOD,
    METHODS,
    NONE,
    NUMBER,
    OF_ARRAYS,
    PARAMETER,
    SET,
    TENSOR,
    TEXT,
    TUPLE,
    USUAL,
)
from triton_ensembles.check.python.source import PythonFile, every_file
from triton_ensembles.check.python.types import Types, types_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.model_py.names import FAILS, LATER, is_expected, is_guarded
from triton_ensembles.spelling import nearest

SOURCE = "python_backend, branches r22.07 to r26.07: src/pb_stub.cc; measured on 2.51.0"
GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
_LOOKED_AT = (ast.Attribute, ast.Subscript, ast.For, ast.comprehension, ast.BinOp, ast.Call, ast.AugAssign)
_OF_OBJECTS = frozenset(dir(object)) | {"__dlpack__", "__dlpack_device__", "__dict__"}
_NOT_SUBSCRIPTABLE = frozenset({*METHODS, METHOD, COROUTINE})
_OF_PYTHON = {TEXT: str, BYTES: bytes, LIST: list, TUPLE: tuple, DICT: dict, SET: set}
# Python's functions, and what they surely refuse.
_REFUSED: dict[str, frozenset[str]] = {
    "range": frozenset({*_NOT_SUBSCRIPTABLE, *DICTIONARIES, *_OF_PYTHON, NONE}),
    "len": frozenset({*_NOT_SUBSCRIPTABLE, NUMBER, NONE}),
    **dict.fromkeys(("int", "float"), frozenset({*_NOT_SUBSCRIPTABLE, *DICTIONARIES, LIST, TUPLE, DICT, SET, NONE})),
}
_OF_COROUTINES = frozenset({"send", "throw", "close", "cr_await", "__await__"})
_GIVING_TENSORS = frozenset({"numpy.from_dlpack", "torch.from_dlpack", "torch.utils.dlpack.from_dlpack"})
_UNSUPPORTED = "TypeError: unsupported operand type(s)"


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
            if not isinstance(node, _LOOKED_AT):
                continue
            found = _misuse_of_call(file, types, node) if isinstance(node, ast.Call) else _misuse(types, node)
            if not found:
                continue
            place = node.iter if isinstance(node, ast.comprehension) else node
            when = flow_of(file).when(place, loops_run=True)
            if (when in FAILS) is certain and not is_expected(file, place):
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
    if isinstance(node, ast.AugAssign):
        holder, found = types.kind(node.target), types.kind(node.value)
        if isinstance(node.op, ast.Add) and found and found.name in METHODS and (holder is None or holder.name == LIST):
            return f"this adds {found.name} to a list", "TypeError: object is not iterable", "write append(…)"
    if isinstance(node, ast.BinOp):
        return _calculation(types, node)
    return None


def _misuse_of_call(file: PythonFile, types: Types, node: ast.Call) -> tuple[str, str, str] | None:
    found = types.kind(node.args[0]) if node.args else None
    if found is None:
        return None
    name = file.full_name(node.func)
    if name in _REFUSED and found.name in _REFUSED[name] and flow_of(file).is_builtin(node.func):
        cure = "write range(len(…))" if name == "range" and found.name == LIST else "give it a number"
        if found.name in _NOT_SUBSCRIPTABLE:
            return _uncalled(node.args[0], found.name, "TypeError")
        if found.name == PARAMETER:
            cure = 'write ["string_value"] after it'
        return f"{name}() gets {found.name}", "TypeError", "write int(…) around it" if found.name == TEXT else cure
    if (
        name.startswith(("numpy.", "torch."))
        and name not in _GIVING_TENSORS
        and found.name in (TENSOR, METHOD, COROUTINE)
    ):
        return _uncalled(node.args[0], found.name, "there are no numbers in it")
    holder = types.kind(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if holder and holder.name == ARRAY and found.name == METHOD:
        return _uncalled(node.args[0], METHOD, "TypeError")
    extends = getattr(node.func, "attr", "") == "extend" and holder is not None and holder.name == LIST
    if extends and found.name in METHODS:
        return f"extend takes a list, and gets {found.name}", "TypeError: object is not iterable", "write append(…)"
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
    if found.name in (METHOD, COROUTINE):
        return _uncalled(node.value, found.name, error) if node.attr not in _OF_COROUTINES else None
    if found.name in _OF_PYTHON or (found.name == ARRAY and not node.attr.startswith("__")):
        own = OF_ARRAYS if found.name == ARRAY else dir(_OF_PYTHON[found.name])
        meant = nearest(node.attr, own)
        cure = "it is decoded already" if node.attr == "decode" else f"did you mean {meant}?" if meant else ""
        return None if node.attr in own else (f"{found.name} has no '{node.attr}'", error, cure or "see its type")
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
    named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    if named and found.name in (LIST, TUPLE):
        error = "TypeError: list indices must be integers or slices"
        return f"this is {found.name}, which has no keys", error, "look for the element, or give its number"
    if named and found.name == TEXT:
        return (
            "this is a text, which has no keys",
            "TypeError: string indices must be integers",
            "read it with json.loads first",
        )
    return None


def _uncalled(node: ast.expr, name: str, error: str) -> tuple[str, str, str]:
    """A method in place of what it gives, or a tensor in place of its array."""
    written = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""
    if name == COROUTINE:
        return f"{written or 'this'} is a coroutine, and nobody awaits it", error, "write await before the call"
    if name == METHOD:
        return f"{written or 'this'} is a method, and it is not called", error, f"write {written}()"
    cure = {TENSOR: "as_numpy()", "an InferenceRequest": "inputs()", "an InferenceResponse": "output_tensors()"}.get(
        name
    )
    return f"{written or 'this'} is {name}, and no list or array", error, f"call its {cure or 'methods'}"
