"""The texts that an expression may be: constants, loops over constants, f-strings. What is not certain is unknown."""

import ast
import math
from functools import lru_cache
from itertools import product
from typing import TypeAlias, TypeGuard

from triton_ensembles.checking.python.bindings import Binding, assigned, binding_of, value_of
from triton_ensembles.checking.python.nodes import is_changed, is_name, name_of
from triton_ensembles.checking.python.source import PythonFile

_MOST = 256  # values of an expression
_MOST_PARTS = 16  # of an f-string, each of which may lead to others
_LARGEST = 1 << 63  # Python refuses to print numbers of thousands of digits
_DEEPEST = 12  # names that lead to names
_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault"}
    | {"popitem", "add"}
)
Value: TypeAlias = str | int


def texts_of(file: PythonFile, node: ast.expr | None) -> tuple[str, ...] | None:
    """Return all the texts that an expression is, in order (``f"INPUT{n}"`` in a loop); None when not known."""
    values = _values(file, node, 0) if node is not None else []
    texts = [value for value in values if isinstance(value, str)]
    return tuple(dict.fromkeys(texts)) if texts and len(texts) == len(values) else None


def text_of(file: PythonFile, node: ast.expr | None) -> str | None:
    """Return the one text that an expression is."""
    texts = texts_of(file, node)
    return texts[0] if texts and len(texts) == 1 else None


@lru_cache(maxsize=128)
def _filled(file: PythonFile) -> frozenset[str]:
    """Return the names and attributes whose lists and dictionaries are changed where they are."""
    changed = [node.value for node in file.nodes if isinstance(node, ast.Subscript) and is_changed(node)]
    methods = (call.func for call, _ in file.calls if isinstance(call.func, ast.Attribute))
    changed += [method.value for method in methods if method.attr in _CHANGING]
    return frozenset(map(name_of, changed))


def _values(file: PythonFile, node: ast.expr, depth: int) -> list[Value]:
    """Return all values of an expression, none when they are not known."""
    if depth > _DEEPEST:
        return []
    if isinstance(node, ast.Constant):
        value = node.value
        return [value] if isinstance(value, str) or (isinstance(value, int) and abs(value) < _LARGEST) else []
    if isinstance(node, ast.JoinedStr):
        return _joined(file, node.values, depth)
    if isinstance(node, ast.FormattedValue):
        return _values(file, node.value, depth + 1) if node.conversion == -1 and node.format_spec is None else []
    binding = binding_of(file.scopes, node) if isinstance(node, ast.Name) else None
    if binding and binding.target is not None:
        return _of_variable(file, binding, name_of(node), depth)
    bound = _bound(file, node)
    return _values(file, bound, depth + 1) if bound is not node else []


def _bound(file: PythonFile, node: ast.expr) -> ast.expr:
    """Return what a name, or an attribute that is set once, stands for; the expression itself for whatever else."""
    if not isinstance(node, ast.Attribute):
        return value_of(file.scopes, node)
    setters = [*file.scopes.attributes.get(node.attr, ()), *file.scopes.members.get(node.attr, ())]
    return (assigned(file.scopes, setters[0]) if len(setters) == 1 else None) or node


def _joined(file: PythonFile, parts: list[ast.expr], depth: int) -> list[Value]:
    choices = [_values(file, part, depth + 1) for part in parts] if len(parts) <= _MOST_PARTS else [[]]
    count = math.prod(map(len, choices))
    return ["".join(map(str, choice)) for choice in product(*choices)] if count <= _MOST else []


def _of_variable(file: PythonFile, loop: Binding, name: str, depth: int) -> list[Value]:
    """Return the values of the variable of a loop over constants, also with ``enumerate``."""
    target, iterated = loop.target, loop.value
    if isinstance(target, ast.Tuple) and _is_over(iterated, "enumerate") and len(target.elts) == 2:
        target, iterated = target.elts[1], iterated.args[0]
    if not is_name(target, name):
        return []
    if _is_over(iterated, "range"):
        limit = next(iter(_values(file, iterated.args[0], depth + 1)), None)
        return list(range(limit)) if isinstance(limit, int) and limit <= _MOST else []
    for _ in range(_DEEPEST):
        if isinstance(iterated, ast.Name | ast.Attribute) and name_of(iterated) not in _filled(file):
            iterated = _bound(file, iterated)
    elements = iterated.elts[: _MOST + 1] if isinstance(iterated, ast.Tuple | ast.List) else []
    values = [_values(file, element, depth + 1) for element in elements]
    return [value for own in values for value in own] if all(values) and len(values) <= _MOST else []


def _is_over(iterated: ast.expr, function: str) -> TypeGuard[ast.Call]:
    """Return whether this is a call of a function of Python with one argument."""
    if not isinstance(iterated, ast.Call) or iterated.keywords or len(iterated.args) != 1:
        return False
    return is_name(iterated.func, function)
