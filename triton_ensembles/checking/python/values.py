"""The texts that an expression may be: constants, loops over constants, f-strings. What is not certain is unknown."""

import ast
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TypeAlias, TypeGuard

from triton_ensembles.checking.python.bindings import assigned, binding_of
from triton_ensembles.checking.python.nodes import is_changed, is_name, method_of, name_of
from triton_ensembles.checking.python.source import PythonFile

_MOST = 256  # values of an expression
_LARGEST = 1 << 63  # Python refuses to print numbers of thousands of digits
_DEEPEST = 12  # names that lead to names
_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault"}
    | {"popitem", "add"}
)
Value: TypeAlias = str | int


class Values:
    """The values that the names of one file are bound to; None stands for what is not known."""

    def __init__(self, file: PythonFile) -> None:
        self._scopes = file.scopes
        self._filled: set[str] = set()  # names and attributes whose lists and dictionaries are changed where they are
        for node in file.nodes:
            if isinstance(node, ast.Subscript) and is_changed(node):
                self._filled.add(name_of(node.value))
            elif isinstance(node, ast.Call) and method_of(node) in _CHANGING:
                self._filled.add(name_of(node.func.value))  # type: ignore[attr-defined]

    def texts(self, node: ast.expr | None) -> tuple[str, ...] | None:
        """Return all the texts that an expression is, one after the other; None when they are not known."""
        values = self._values(node, 0) if node is not None else None
        return tuple(dict.fromkeys(map(str, values))) if values and _are_texts(values) else None

    def _values(self, node: ast.expr, depth: int) -> list[Value] | None:
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            value = node.value
            return [value] if isinstance(value, str) or (isinstance(value, int) and abs(value) < _LARGEST) else None
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values, depth)
        if isinstance(node, ast.FormattedValue):
            return self._values(node.value, depth + 1) if node.conversion == -1 and node.format_spec is None else None
        binding = binding_of(self._scopes, node) if isinstance(node, ast.Name) else None
        if binding and binding.target is not None:
            return self._of_variable(binding.target, binding.value, node, depth)
        bound = self._bound(node)
        return self._values(bound, depth + 1) if bound is not None else None

    def _bound(self, node: ast.expr) -> ast.expr | None:
        """Return what a name, or an attribute that is set once, stands for; None for whatever else."""
        if isinstance(node, ast.Name):
            binding = binding_of(self._scopes, node)
            return binding.value if binding and binding.target is None else None
        name = node.attr if isinstance(node, ast.Attribute) else ""
        setters = [*self._scopes.attributes.get(name, ()), *self._scopes.members.get(name, ())]
        return assigned(self._scopes, setters[0]) if len(setters) == 1 else None

    def _joined(self, parts: list[ast.expr], depth: int) -> list[Value] | None:
        choices: list[list[Value]] = []
        for part in parts:
            values = self._values(part, depth + 1)
            if values is None or len(values) > _MOST:
                return None
            choices.append(values)
        combined = ["".join(map(str, choice)) for _, choice in zip(range(_MOST + 1), product(*choices), strict=False)]
        return list(combined) if len(combined) <= _MOST else None

    def _of_variable(self, target: ast.expr, iterated: ast.expr, name: ast.expr, depth: int) -> list[Value] | None:
        """Return the values of the variable of a loop over constants, also with ``enumerate``."""
        if isinstance(target, ast.Tuple) and _is_over(iterated, "enumerate") and len(target.elts) == 2:
            target, iterated = target.elts[1], iterated.args[0]
        if not is_name(target, name_of(name)):
            return None
        if _is_over(iterated, "range"):
            limit = next(iter(self._values(iterated.args[0], depth + 1) or ()), None)
            return list(range(limit)) if isinstance(limit, int) and 0 < limit <= _MOST else None
        for _ in range(_DEEPEST):
            if not isinstance(iterated, ast.Name | ast.Attribute) or name_of(iterated) in self._filled:
                break
            iterated = self._bound(iterated) or iterated
        return self._all(iterated.elts, depth) if isinstance(iterated, ast.Tuple | ast.List) else None

    def _all(self, nodes: Sequence[ast.expr], depth: int) -> list[Value] | None:
        values: list[Value] = []
        for node in nodes:
            own = self._values(node, depth + 1)
            if own is None:
                return None
            values += own
        return values if 0 < len(values) <= _MOST else None


def _is_over(iterated: ast.expr, function: str) -> TypeGuard[ast.Call]:
    """Return whether this is a call of a function of Python with one argument."""
    if not isinstance(iterated, ast.Call) or iterated.keywords or len(iterated.args) != 1:
        return False
    return is_name(iterated.func, function)


def _are_texts(values: Sequence[Value]) -> bool:
    return all(isinstance(value, str) for value in values)


_values_of = lru_cache(maxsize=128)(Values)


def texts_of(file: PythonFile, node: ast.expr | None) -> tuple[str, ...] | None:
    """Return all the texts that an expression is, in order (``f"INPUT{n}"`` in a loop); None when not known."""
    return _values_of(file).texts(node)


def text_of(file: PythonFile, node: ast.expr | None) -> str | None:
    """Return the one text that an expression is."""
    texts = texts_of(file, node)
    return texts[0] if texts and len(texts) == 1 else None
