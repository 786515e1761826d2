"""The texts that an expression may be: constants, loops over constants, f-strings. What is not certain is unknown."""

import ast
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from triton_ensembles.checking.python.flow import Flow, flow_of
from triton_ensembles.checking.python.nodes import Comprehension, Function, defined_names, is_changed, is_name
from triton_ensembles.checking.python.source import PythonFile

_MOST = 256  # values of an expression
_LARGEST = 1 << 63  # Python refuses to print numbers of thousands of digits
_DEEPEST = 12  # names that lead to names
_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault"}
    | {"popitem", "add"}
)
Value: TypeAlias = str | int
Bindings: TypeAlias = dict[str, list[ast.expr | None]]


class Values:
    """The values that the names of one file are bound to; None stands for what is not known."""

    def __init__(self, file: PythonFile, flow: Flow) -> None:
        self._flow = flow
        self._names: dict[ast.AST | None, Bindings] = {}  # of each function and class; those of the module for None
        self._lambdas: dict[ast.Lambda, frozenset[str]] = {}
        self._attributes: Bindings = {}  # of all objects: self.name, Class.name
        for node in file.nodes:
            self._note(node)

    def texts(self, node: ast.expr | None) -> tuple[str, ...] | None:
        """All the texts that an expression is, one after the other; None when they are not known."""
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
        """The values of ``NAMES[0]``, ``NAMES["a"]``."""
        holder, indexes = self._literal(node.value, depth), self._values(node.slice, depth + 1)
        if indexes is None or len(indexes) != 1:
            return None
        index = indexes[0]
        if isinstance(holder, ast.Tuple | ast.List) and isinstance(index, int) and 0 <= index < len(holder.elts):
            return self._values(holder.elts[index], depth + 1)
        if isinstance(holder, ast.Dict):
            for key, value in zip(holder.keys, holder.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == index:
                    return self._values(value, depth + 1)
        return None

    def _of_name(self, node: ast.Name, depth: int) -> list[Value] | None:
        for parent, child in self._flow.above(node):
            if isinstance(parent, ast.For) and self._flow.in_body(child, parent):
                if self._flow.names(parent.target, node.id):
                    stores = [use for use in self._flow.names(parent, node.id) if isinstance(use.ctx, ast.Store)]
                    return self._of_variable(parent.target, parent.iter, node.id, depth) if len(stores) == 1 else None
            elif isinstance(parent, Comprehension):
                for generator in parent.generators:
                    if self._flow.names(generator.target, node.id):
                        return self._of_variable(generator.target, generator.iter, node.id, depth)
        binding = self._binding(node)
        return self._values(binding, depth + 1) if binding is not None else None

    def _binding(self, node: ast.Name) -> ast.expr | None:
        """The one expression that a name is bound to where it is used."""
        for parent, _ in self._flow.above(node):
            if isinstance(parent, ast.Lambda) and node.id in self._parameters(parent):
                return None
            if isinstance(parent, Function):
                bindings = self._names.get(parent, {}).get(node.id)
                if bindings:
                    return _only(bindings)
        return _only(self._names.get(None, {}).get(node.id))

    def _parameters(self, function: ast.Lambda) -> frozenset[str]:
        if function not in self._lambdas:
            names = (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))
            self._lambdas[function] = frozenset(names)
        return self._lambdas[function]

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
            return self._column(iterated, place, depth)
        if is_name(iterated.func, "enumerate") and len(iterated.args) == 1 and place == 1:
            return self._elements(iterated.args[0], depth)
        if is_name(iterated.func, "zip") and place < len(iterated.args):
            return self._elements(iterated.args[place], depth)
        if isinstance(iterated.func, ast.Attribute) and iterated.func.attr == "items":
            holder = self._literal(iterated.func.value, depth)
            return self._all(holder.values if place else holder.keys, depth) if isinstance(holder, ast.Dict) else None
        return None

    def _column(self, iterated: ast.expr, place: int, depth: int) -> list[Value] | None:
        """The values of one variable of ``for name, value in (("X", 1), ("Y", 2))``."""
        rows = self._literal(iterated, depth)
        if not isinstance(rows, ast.Tuple | ast.List):
            return None
        cells: list[ast.expr | None] = []
        for row in rows.elts:
            is_long_enough = isinstance(row, ast.Tuple | ast.List) and place < len(row.elts)
            cells.append(row.elts[place] if is_long_enough else None)  # type: ignore[attr-defined]
        return self._all(cells, depth)

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
        """The list, tuple or dictionary that a name stands for, if nothing changes it."""
        for _ in range(_DEEPEST - depth):
            if isinstance(node, ast.Name):
                binding = self._binding(node)
            elif isinstance(node, ast.Attribute):
                binding = _only(self._attributes.get(node.attr))
            else:
                return node
            if binding is None:
                return None
            node = binding
        return None

    def _note(self, node: ast.AST) -> None:
        """Note bindings, and everything that may change what is bound."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.Name | ast.Attribute) and is_changed(node):
            if not isinstance(self._flow.parents.get(node), ast.Assign | ast.AnnAssign):
                self._bind(node, None)
        elif isinstance(node, ast.Subscript) and is_changed(node):
            self._bind(node.value, None)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            self._bind(node.func.value, None)
        else:
            for name in defined_names(node):
                self._add(self._flow.function(node), name, None)
                if isinstance(node, ast.Global):
                    self._add(None, name, None)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Attribute):
            self._attributes.setdefault(target.attr, []).append(value)
        elif isinstance(target, ast.Name):
            scopes = (parent for parent, _ in self._flow.above(target) if isinstance(parent, Function | ast.ClassDef))
            scope = next(scopes, None)
            if isinstance(scope, ast.ClassDef):
                self._attributes.setdefault(target.id, []).append(value)
            else:
                self._add(scope, target.id, value)

    def _add(self, function: ast.AST | None, name: str, value: ast.expr | None) -> None:
        self._names.setdefault(function, {}).setdefault(name, []).append(value)


def _only(bindings: list[ast.expr | None] | None) -> ast.expr | None:
    return bindings[0] if bindings and len(bindings) == 1 else None


def _are_texts(values: Sequence[Value]) -> bool:
    return all(isinstance(value, str) for value in values)


@lru_cache(maxsize=128)
def _values_of(file: PythonFile) -> Values:
    return Values(file, flow_of(file))


def texts_of(file: PythonFile, node: ast.expr | None) -> tuple[str, ...] | None:
    """All the texts that an expression is, one after the other (``f"INPUT{n}"`` in a loop); None when not known."""
    return _values_of(file).texts(node)


def text_of(file: PythonFile, node: ast.expr | None) -> str | None:
    """The one text that an expression is."""
    texts = texts_of(file, node)
    return texts[0] if texts and len(texts) == 1 else None
