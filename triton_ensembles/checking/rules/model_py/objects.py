"""Uses of Triton's objects in model.py: methods that they do not have, or that are not called."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected, is_guarded
from triton_ensembles.checking.python.flow import Misuse, flow_of
from triton_ensembles.checking.python.kinds import CODES, DICTIONARIES, METHODS, OF_ARRAYS, USUAL, Kind
from triton_ensembles.checking.python.nodes import is_changed, method_of
from triton_ensembles.checking.python.source import PythonFile, every_file
from triton_ensembles.checking.python.types import Types, types_of
from triton_ensembles.checking.rule import Finding, Model, Severity, rule
from triton_ensembles.ground.spelling import nearest, suggestion
from triton_ensembles.triton.backends import STUB_BRANCHES

SOURCE = f"python_backend, branches {STUB_BRANCHES}: src/pb_stub.cc; measured on 2.51.0"
GOOD = class_model()
_LOOKED_AT = (ast.Attribute, ast.Subscript, ast.For, ast.comprehension, ast.BinOp, ast.Call, ast.AugAssign)
_OF_OBJECTS = frozenset(dir(object)) | {"__dlpack__", "__dlpack_device__", "__dict__"}
_NOT_SUBSCRIPTABLE = frozenset({*METHODS, Kind.METHOD, Kind.COROUTINE})
_OF_PYTHON = {
    Kind.TEXT: str, Kind.BYTES: bytes, Kind.LIST: list, Kind.TUPLE: tuple, Kind.DICT: dict, Kind.SET: set
}  # fmt: skip
_NO_NUMBERS = frozenset({*_NOT_SUBSCRIPTABLE, *DICTIONARIES, Kind.LIST, Kind.TUPLE, Kind.DICT, Kind.SET, Kind.NONE})
# Python's functions, and what they certainly refuse.
_REFUSED: dict[str, frozenset[Kind]] = {
    "range": _NO_NUMBERS | {Kind.TEXT, Kind.BYTES},
    "len": frozenset({*_NOT_SUBSCRIPTABLE, Kind.NUMBER, Kind.NONE}),
    "int": _NO_NUMBERS,
    "float": _NO_NUMBERS,
}
_OF_COROUTINES = frozenset({"send", "throw", "close", "cr_await", "__await__"})
_GIVING_TENSORS = frozenset({"numpy.from_dlpack", "torch.from_dlpack", "torch.utils.dlpack.from_dlpack"})
_GIVING = {Kind.TENSOR: "as_numpy()", Kind.REQUEST: "inputs()", Kind.RESPONSE: "output_tensors()"}
_NOT_ITERABLE = "TypeError: object is not iterable"
_UNSUPPORTED = "TypeError: unsupported operand type(s)"


@rule(
    "Triton's objects have the methods that model.py certainly calls",
    bad=class_model(EXECUTE.replace("x.as_numpy()", "x.numpy()")),
    lower=Severity.WARNING,
)
def model_py_object_use(model: Model) -> Iterator[Finding]:
    """A warning where the line may never run."""
    for file in every_file(model):
        if file.module is None or is_guarded(file):
            continue
        types = types_of(file)
        for node in file.nodes:
            if not isinstance(node, _LOOKED_AT):
                continue
            misuse = _of_call(file, types, node) if isinstance(node, ast.Call) else _misuse(types, node)
            place = node.iter if isinstance(node, ast.comprehension) else node
            if misuse and not is_expected(file, place):
                when = flow_of(file).when(place, loops_run=True)
                yield misuse.finding(file.place(place), when, when.is_certain)


def _misuse(types: Types, node: ast.AST) -> Misuse | None:
    if isinstance(node, ast.Attribute):
        return None if is_changed(node) else _of_attribute(types, node)
    if isinstance(node, ast.Subscript):
        return None if is_changed(node) else _of_subscript(types, node)
    if isinstance(node, ast.For | ast.comprehension):
        kind = types.kind(node.iter)
        return _uncalled(node.iter, kind, _NOT_ITERABLE) if kind in _NOT_SUBSCRIPTABLE else None
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        kind = types.kind(node.value)
        if kind in METHODS and types.kind(node.target) in (None, Kind.LIST):
            return Misuse(f"this adds {kind} to a list", _NOT_ITERABLE, "write append(…)")
    return _of_calculation(types, node) if isinstance(node, ast.BinOp) else None


def _of_call(file: PythonFile, types: Types, call: ast.Call) -> Misuse | None:
    kind = types.kind(call.args[0]) if call.args else None
    if kind is None:
        return None
    name = file.full_name(call.func)
    if name in _REFUSED and kind in _REFUSED[name] and flow_of(file).is_builtin(call.func):
        if kind in _NOT_SUBSCRIPTABLE:
            return _uncalled(call.args[0], kind, "TypeError")
        cures = {Kind.TEXT: "write int(…) around it", Kind.PARAMETER: 'write ["string_value"] after it'}
        usual = "write range(len(…))" if name == "range" and kind is Kind.LIST else "give it a number"
        return Misuse(f"{name}() gets {kind}", "TypeError", cures.get(kind, usual))
    takes_numbers = name.startswith(("numpy.", "torch.")) and name not in _GIVING_TENSORS
    if takes_numbers and kind in (Kind.TENSOR, Kind.METHOD, Kind.COROUTINE):
        return _uncalled(call.args[0], kind, "there are no numbers in it")
    holder = types.kind(call.func.value) if isinstance(call.func, ast.Attribute) else None
    if holder is Kind.ARRAY and kind is Kind.METHOD:
        return _uncalled(call.args[0], kind, "TypeError")
    if method_of(call) == "extend" and holder is Kind.LIST and kind in METHODS:
        return Misuse(f"extend takes a list, and gets {kind}", _NOT_ITERABLE, "write append(…)")
    return None


def _of_calculation(types: Types, node: ast.BinOp) -> Misuse | None:
    left, right = types.kind(node.left), types.kind(node.right)
    for side, kind, number in ((node.left, left, right), (node.right, right, left)):
        if number is Kind.NUMBER and kind in (Kind.TENSOR, Kind.METHOD):
            return _uncalled(side, kind, _UNSUPPORTED)
    if {left, right} == {Kind.TEXT, Kind.NUMBER} and isinstance(node.op, ast.Add | ast.Sub):
        return Misuse("this is a text, and not a number", _UNSUPPORTED, "write int(…) around it")
    return None


def _of_attribute(types: Types, node: ast.Attribute) -> Misuse | None:
    kind, name = types.kind(node.value), node.attr
    if kind is None or name in _OF_OBJECTS:
        return None
    error = f"AttributeError: object has no attribute '{name}'"
    if kind in (Kind.METHOD, Kind.COROUTINE):
        return _uncalled(node.value, kind, error) if name not in _OF_COROUTINES else None
    if kind in _OF_PYTHON or (kind is Kind.ARRAY and not name.startswith("__")):
        known = OF_ARRAYS if kind is Kind.ARRAY else dir(_OF_PYTHON[kind])
        if name in known:
            return None
        cure = suggestion(name, known, "did you mean {}?") or "see its type"
        return Misuse(f"{kind} has no '{name}'", error, "it is decoded already" if name == "decode" else cure)
    if kind in DICTIONARIES:
        if name == "keys" or name.startswith("__") or name in dir(dict):
            return None
        verb = "are" if kind is Kind.ARGS else "is"
        return Misuse(f"{kind} {verb} a dictionary, which has no '{name}'", error, f'write ["{name}"]')
    if kind not in METHODS or name in METHODS[kind] or (kind is Kind.ERROR and name in CODES):
        return None
    near = nearest(name, METHODS[kind])
    meant = USUAL.get(kind, {}).get(name, "").format(name) or (f"{near}()" if near else "")
    cure = f"write {meant}" if meant else f"it has {', '.join(f'{method}()' for method in sorted(METHODS[kind]))}"
    return Misuse(f"{kind} has no '{name}'", error, cure)


def _of_subscript(types: Types, node: ast.Subscript) -> Misuse | None:
    kind = types.kind(node.value)
    if kind in _NOT_SUBSCRIPTABLE:
        return _uncalled(node.value, kind, "TypeError: object is not subscriptable")
    if not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, str):
        return None
    if kind in (Kind.LIST, Kind.TUPLE):
        error = "TypeError: list indices must be integers or slices"
        return Misuse(f"this is {kind}, which has no keys", error, "look for the element, or give its number")
    if kind is Kind.TEXT:
        error = "TypeError: string indices must be integers"
        return Misuse("this is a text, which has no keys", error, "read it with json.loads first")
    return None


def _uncalled(node: ast.expr, kind: Kind, error: str) -> Misuse:
    """A method in place of what it gives, or a tensor in place of its array."""
    text = ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name) else ""
    if kind is Kind.COROUTINE:
        return Misuse(f"{text or 'this'} is a coroutine, and nobody awaits it", error, "write await before the call")
    if kind is Kind.METHOD:
        return Misuse(f"{text or 'this'} is a method, and it is not called", error, f"write {text}()")
    cure = f"call its {_GIVING.get(kind, 'methods')}"
    return Misuse(f"{text or 'this'} is {kind}, and no list or array", error, cure)
