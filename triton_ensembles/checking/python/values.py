"""The texts that an expression may be: constants, loops over constants, f-strings. What is not certain is unknown."""

import ast
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from triton_ensembles.checking.python.bindings import assigned, binding_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import Function, is_changed, is_name, method_of, name_of
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
        self._flow = flow_of(file)
        self._attributes: dict[str, list[ast.expr | None]] = {}  # of all objects: self.name, Class.name
        self._filled: set[str] = set()  # names and attributes whose lists and dictionaries are changed where they are
        for node in file.nodes:
            if isinstance(node, ast.Subscript) and is_changed(node):
                self._filled.add(name_of(node.value))
            elif isinstance(node, ast.Call) and method_of(node) in _CHANGING:
                self._filled.add(name_of(node.func.value))  # type: ignore[attr-defined]
            elif is_changed(node) and (isinstance(node, ast.Attribute) or self._is_of_class(node)):
                self._attributes.setdefault(name_of(node), []).append(assigned(self._flow, node))

    def _is_of_class(self, node: ast.AST) -> bool:
        scopes = (parent for parent, _ in self._flow.above(node) if isinstance(parent, Function | ast.ClassDef))
        return isinstance(next(scopes, None), ast.ClassDef)

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
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sums = self._joined([node.left, node.right], depth)
            return sums if sums and _are_texts(self._values(node.left, depth + 1) or []) else None
        if isinstance(node, ast.Subscript):
            return self._item(node, depth)
        if isinstance(node, ast.Name):
            return self._of_name(node, depth)
        if isinstance(node, ast.Attribute):
            binding = _only(self._attributes.get(node.attr))
            return self._values(binding, depth + 1) if binding is not None else None
        return None

    def _joined(self, parts: list[ast.expr], depth: int) -> list[Value] | None:
        choices: list[list[Value]] = []
        for part in parts:
            values = self._values(part, depth + 1)
            if values is None or len(values) > _MOST:
                return None
            choices.append(values)
        combined = ["".join(map(str, choice)) for _, choice in zip(range(_MOST + 1), product(*choices), strict=False)]
        return list(combined) if len(combined) <= _MOST else None

    def _item(self, node: ast.Subscript, depth: int) -> list[Value] | None:
        """Return the values of ``NAMES[0]``, ``NAMES["a"]``."""
        holder, indexes = self._literal(node.value, depth), self._values(node.slice, depth + 1)
        if indexes is None or len(indexes) != 1:
            return None
        index = indexes[0]
        if isinstance(holder, ast.Tuple | ast.List) and isinstance(index, int) and 0 <= index < len(holder.elts):
            return self._values(holder.elts[index], depth + 1)
        return None

    def _of_name(self, node: ast.Name, depth: int) -> list[Value] | None:
        binding = binding_of(self._flow, node)
        if binding is None or binding.value is None:
            return None
        if binding.target is not None:
            return self._of_variable(binding.target, binding.value, node.id, depth)
        return self._values(binding.value, depth + 1)

    def _of_variable(self, target: ast.expr, iterated: ast.expr, name: str, depth: int) -> list[Value] | None:
        if depth > _DEEPEST:
            return None
        if isinstance(target, ast.Name):
            return self._elements(iterated, depth)
        if not isinstance(target, ast.Tuple):
            return None
        place = next((place for place, variable in enumerate(target.elts) if is_name(variable, name)), None)
        if place is None:
            return None
        if not isinstance(iterated, ast.Call) or iterated.keywords:
            return None
        if is_name(iterated.func, "enumerate") and len(iterated.args) == 1 and place == 1:
            return self._elements(iterated.args[0], depth)
        if is_name(iterated.func, "zip") and place < len(iterated.args):
            return self._elements(iterated.args[place], depth)
        return None

    def _elements(self, iterated: ast.expr, depth: int) -> list[Value] | None:
        if isinstance(iterated, ast.Call) and is_name(iterated.func, "range"):
            limits = [self._values(limit, depth + 1) for limit in iterated.args]
            if not 1 <= len(limits) <= 3 or any(limit is None or len(limit) != 1 for limit in limits):
                return None
            numbers = [limit[0] for limit in limits if limit and isinstance(limit[0], int)]
            counted = range(*numbers) if len(numbers) == len(limits) and 0 not in numbers[2:] else range(0)
            return list(counted) if 0 < len(counted) <= _MOST else None
        holder = self._literal(iterated, depth)
        if isinstance(holder, ast.Dict):
            return self._all(holder.keys, depth)
        return self._all(holder.elts, depth) if isinstance(holder, ast.Tuple | ast.List | ast.Set) else None

    def _all(self, nodes: Sequence[ast.expr | None], depth: int) -> list[Value] | None:
        values: list[Value] = []
        for node in nodes:
            own = self._values(node, depth + 1) if node is not None else None
            if own is None:
                return None
            values += own
        return values if 0 < len(values) <= _MOST else None

    def _literal(self, node: ast.expr, depth: int) -> ast.expr | None:
        """Return the list, tuple or dictionary that a name stands for, if nothing changes it."""
        for _ in range(_DEEPEST - depth):
            if not isinstance(node, ast.Name | ast.Attribute):
                return node
            if name_of(node) in self._filled:
                return None
            if isinstance(node, ast.Name):
                binding = binding_of(self._flow, node)
                value = binding.value if binding and binding.target is None else None
            else:
                value = _only(self._attributes.get(node.attr))
            if value is None:
                return None
            node = value
        return None


def _only(bindings: list[ast.expr | None] | None) -> ast.expr | None:
    return bindings[0] if bindings and len(bindings) == 1 else None


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
