"""The texts that an expression may be: constants, loops over constants, f-strings. What is not certain is unknown."""

import ast
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from triton_ensembles.check.python.flow import Flow, defined_names, flow_of
from triton_ensembles.check.python.source import PythonFile

_MOST = 256  # values of an expression
_LARGEST = 1 << 63  # Python refuses to print numbers of thousands of digits
_DEEPEST = 12  # names that lead to names
_CHANGING = frozenset(
    (
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "sort",
        "reverse",
        "update",
        "setdefault",
        "popitem",
        "add",
    )
)
Value: TypeAlias = str | int
Bindings: TypeAlias = dict[str, list[ast.expr | None]]


class Values:
    """What the names of one file are bound to; None stands for what is not known."""

    def __init__(self, file: PythonFile, flow: Flow) -> None:
        self._flow = flow
        self._names: dict[ast.AST | None, Bindings] = {}  # of each function and class; those of the module for None
        self._lambdas: dict[ast.Lambda, frozenset[str]] = {}
        self._attributes: Bindings = {}  # of all objects: self.name, Class.name
        for node in file.nodes:
            self._note(node)

    def texts(self, node: ast.expr | None) -> tuple[str, ...] | None:
        """All the texts that an expression is, one after the other; None when they are not known."""
        found = self._values(node, 0) if node is not None else None
        return tuple(dict.fromkeys(map(str, found))) if found and all(isinstance(each, str) for each in found) else None

    def _values(self, node: ast.expr, depth: int) -> list[Value] | None:
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            printed = isinstance(node.value, str) or (isinstance(node.value, int) and abs(node.value) < _LARGEST)
            return [node.value] if printed else None  # type: ignore[list-item]
        if isinstance(node, ast.JoinedStr):
            return self._joined(node.values, depth)
        if isinstance(node, ast.FormattedValue):
            return self._values(node.value, depth + 1) if node.conversion == -1 and node.format_spec is None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            found = self._joined([node.left, node.right], depth)
            return (
                found
                if found and all(isinstance(each, str) for each in self._values(node.left, depth + 1) or [])
                else None
            )
        if isinstance(node, ast.Subscript):
            return self._item(node, depth)
        if isinstance(node, ast.Name):
            return self._of_name(node, depth)
        if isinstance(node, ast.Attribute):
            bound = self._attributes.get(node.attr, [])
            return self._values(bound[0], depth + 1) if len(bound) == 1 and bound[0] is not None else None
        return None

    def _joined(self, parts: list[ast.expr], depth: int) -> list[Value] | None:
        found: list[list[Value]] = []
        for part in parts:
            values = self._values(part, depth + 1)
            if values is None or len(values) > _MOST:
                return None
            found.append(values)
        combined = ["".join(map(str, each)) for _, each in zip(range(_MOST + 1), product(*found), strict=False)]
        return list(combined) if len(combined) <= _MOST else None

    def _item(self, node: ast.Subscript, depth: int) -> list[Value] | None:
        """``NAMES[0]``, ``NAMES["a"]``."""
        holder, index = self._literal(node.value, depth), self._values(node.slice, depth + 1)
        if index is None or len(index) != 1:
            return None
        if isinstance(holder, ast.Tuple | ast.List) and isinstance(index[0], int) and 0 <= index[0] < len(holder.elts):
            return self._values(holder.elts[index[0]], depth + 1)
        if isinstance(holder, ast.Dict):
            for key, value in zip(holder.keys, holder.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == index[0]:
                    return self._values(value, depth + 1)
        return None

    def _of_name(self, node: ast.Name, depth: int) -> list[Value] | None:
        for parent, child in self._flow.above(node):
            if (
                isinstance(parent, ast.For)
                and self._flow.in_body(child, parent)
                and self._flow.names(parent.target, node.id)
            ):
                stored = sum(isinstance(each.ctx, ast.Store) for each in self._flow.names(parent, node.id))
                return self._each(parent.target, parent.iter, node.id, depth) if stored == 1 else None
            if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
                for part in parent.generators:
                    if self._flow.names(part.target, node.id):
                        return self._each(part.target, part.iter, node.id, depth)
        bound = self._bound(node)
        return self._values(bound, depth + 1) if bound is not None else None

    def _bound(self, node: ast.Name) -> ast.expr | None:
        """The one expression that a name is bound to where it is used."""
        for parent, _ in self._flow.above(node):
            if isinstance(parent, ast.Lambda) and node.id in self._arguments(parent):
                return None
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                bound = self._names.get(parent, {}).get(node.id)
                if bound:
                    return bound[0] if len(bound) == 1 else None
        bound = self._names.get(None, {}).get(node.id)
        return bound[0] if bound and len(bound) == 1 else None

    def _arguments(self, function: ast.Lambda) -> frozenset[str]:
        if function not in self._lambdas:
            found = (each.arg for each in ast.walk(function) if isinstance(each, ast.arg))
            self._lambdas[function] = frozenset(found)
        return self._lambdas[function]

    def _each(self, target: ast.expr, iterated: ast.expr, name: str, depth: int) -> list[Value] | None:
        """The values of a loop's variable."""
        if depth > _DEEPEST:
            return None
        if isinstance(target, ast.Tuple):
            place = next(
                (n for n, each in enumerate(target.elts) if isinstance(each, ast.Name) and each.id == name), None
            )
            call = iterated.func if isinstance(iterated, ast.Call) else None
            if place is None or not isinstance(iterated, ast.Call) or iterated.keywords:
                return self._column(iterated, place, depth)
            if isinstance(call, ast.Name) and call.id == "enumerate" and len(iterated.args) == 1 and place == 1:
                return self._elements(iterated.args[0], depth)
            if isinstance(call, ast.Name) and call.id == "zip" and place < len(iterated.args):
                return self._elements(iterated.args[place], depth)
            if isinstance(call, ast.Attribute) and call.attr == "items":
                holder = self._literal(call.value, depth)
                return (
                    self._all(holder.values if place else holder.keys, depth) if isinstance(holder, ast.Dict) else None
                )
            return None
        return self._elements(iterated, depth) if isinstance(target, ast.Name) else None

    def _column(self, iterated: ast.expr, place: int | None, depth: int) -> list[Value] | None:
        """``for name, value in (("X", 1), ("Y", 2))``."""
        rows = self._literal(iterated, depth)
        if place is None or not isinstance(rows, ast.Tuple | ast.List):
            return None
        fits: list[ast.expr | None] = []
        for row in rows.elts:
            long_enough = isinstance(row, ast.Tuple | ast.List) and place < len(row.elts)
            fits.append(row.elts[place] if long_enough else None)  # type: ignore[attr-defined]
        return self._all(fits, depth)

    def _elements(self, iterated: ast.expr, depth: int) -> list[Value] | None:
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id == "range":
            limits = [self._values(each, depth + 1) for each in iterated.args]
            if not 1 <= len(limits) <= 3 or any(each is None or len(each) != 1 for each in limits):
                return None
            numbers = [each[0] for each in limits if each and isinstance(each[0], int)]
            counted = range(*numbers) if len(numbers) == len(limits) and 0 not in numbers[2:] else range(0)
            return list(counted) if 0 < len(counted) <= _MOST else None
        holder = self._literal(iterated, depth)
        if isinstance(holder, ast.Dict):
            return self._all(holder.keys, depth)
        return self._all(holder.elts, depth) if isinstance(holder, ast.Tuple | ast.List | ast.Set) else None

    def _all(self, nodes: Sequence[ast.expr | None], depth: int) -> list[Value] | None:
        found: list[Value] = []
        for node in nodes:
            values = self._values(node, depth + 1) if node is not None else None
            if values is None:
                return None
            found += values
        return found if 0 < len(found) <= _MOST else None

    def _literal(self, node: ast.expr, depth: int) -> ast.expr | None:
        """The list, tuple or dictionary that a name stands for, if nothing changes it."""
        for _ in range(_DEEPEST - depth):
            if isinstance(node, ast.Name):
                found = self._bound(node)
            elif isinstance(node, ast.Attribute):
                bound = self._attributes.get(node.attr, [])
                found = bound[0] if len(bound) == 1 else None
            else:
                return node
            if found is None:
                return None
            node = found
        return None

    def _note(self, node: ast.AST) -> None:
        """Bindings, and everything that may change what is bound."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            if not isinstance(self._flow.parents.get(node), ast.Assign | ast.AnnAssign):
                self._bind(node, None)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            self._bind(node.value, None)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            self._bind(node.func.value, None)
        else:
            for name in defined_names(node):
                self._add(self._flow.function(node), name, None)
                if isinstance(node, ast.Global):
                    self._add(None, name, None)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            holder = next(
                (
                    p
                    for p, _ in self._flow.above(target)
                    if isinstance(p, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                ),
                None,
            )
            if isinstance(holder, ast.ClassDef):
                self._attributes.setdefault(target.id, []).append(value)
            else:
                self._add(holder, target.id, value)
        elif isinstance(target, ast.Attribute):
            self._attributes.setdefault(target.attr, []).append(value)

    def _add(self, function: ast.AST | None, name: str, value: ast.expr | None) -> None:
        self._names.setdefault(function, {}).setdefault(name, []).append(value)


@lru_cache(maxsize=128)
def _values_of(file: PythonFile) -> Values:
    return Values(file, flow_of(file))


def texts_of(file: PythonFile, node: ast.expr | None) -> tuple[str, ...] | None:
    """All the texts that an expression is, one after the other (``f"INPUT{n}"`` in a loop); None when not known."""
    return _values_of(file).texts(node)


def text_of(file: PythonFile, node: ast.expr | None) -> str | None:
    """The one text that an expression is."""
    found = texts_of(file, node)
    return found[0] if found and len(found) == 1 else None
