"""What an expression of model.py surely is: Triton's objects, followed through names, loops, helpers and attributes."""

import ast
from functools import cached_property, lru_cache

from triton_ensembles.check.python.arrays import kind_of_call, kind_of_method
from triton_ensembles.check.python.bindings import binding_of
from triton_ensembles.check.python.flow import Flow, Function, flow_of, own_nodes, requests_of
from triton_ensembles.check.python.kinds import (
    ARGS,
    ARGUMENTS,
    ARRAY,
    BUILTINS,
    BYTES,
    CONFIG,
    COROUTINE,
    DICTIONARIES,
    FUNCTIONS,
    GENERATOR,
    IO,
    LIST,
    LITERALS,
    METHOD,
    METHODS,
    NONE,
    NUMBER,
    PARAMETER,
    PARAMETERS,
    REQUEST,
    RESPONSE,
    TEXT,
    Kind,
    Known,
)
from triton_ensembles.check.python.source import UTILS, PythonFile, argument

_DEEPEST = 30  # names that lead to names, helpers that call helpers
_MOST = 100  # elements of a list that are looked at
_FILLING = ("update", "setdefault", "pop", "popitem")
_OF_CONFIG: dict[str, Known] = {
    "input": Kind(LIST, Kind(IO)),
    "output": Kind(LIST, Kind(IO)),
    "parameters": Kind(PARAMETERS),
    "max_batch_size": Kind(NUMBER),
    "name": Kind(TEXT),
}
_OF_IO: dict[str, Known] = {"name": Kind(TEXT), "data_type": Kind(TEXT), "dims": Kind(LIST, Kind(NUMBER))}
_TEXT_METHODS = {
    **dict.fromkeys(
        ("join", "format", "strip", "lower", "upper", "replace", "removeprefix", "removesuffix"), Kind(TEXT)
    ),
    **dict.fromkeys(("split", "splitlines"), Kind(LIST, Kind(TEXT))),
    "encode": Kind(BYTES),
}


class Types:
    """The kinds of the expressions of one file; None stands for what is not known."""

    def __init__(self, file: PythonFile) -> None:
        self._file = file
        self._flow: Flow = flow_of(file)
        self._known: dict[ast.expr, Known] = {}
        self._depth = 0
        self._attributes: dict[str, list[ast.expr | None]] = {}
        self._filled: list[ast.expr] = []  # what is changed where it is
        self._changed: bool | None = None  # whether the config, or a part of it, may be among that
        for node in file.nodes:
            if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                self._filled.append(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
                self._filled.append(node.func.value)
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                parent = self._flow.parents.get(node)
                plain = isinstance(parent, ast.Assign) and node in parent.targets
                plain = plain or (isinstance(parent, ast.AnnAssign) and node is parent.target)
                own = isinstance(node.value, ast.Name) and node.value.id == "self"
                value = parent.value if plain and own else None  # type: ignore[union-attr]
                self._attributes.setdefault(node.attr, []).append(value)

    def kind(self, node: ast.expr | None) -> Known:
        if node is None or self._depth > _DEEPEST:
            return None
        if self._changed is None:
            self._changed = False
            kinds = [self.kind(each) for each in self._filled]
            self._changed = any(each is not None and each.name in DICTIONARIES for each in kinds)
            self._known.clear()
        if node not in self._known:
            self._known[node] = None  # for what is defined by itself
            self._depth += 1
            try:
                found = self._kind(node)
                changed = self._changed and found is not None and found.name in DICTIONARIES
                self._known[node] = None if changed else found
            finally:
                self._depth -= 1
        return self._known[node]

    def _kind(self, node: ast.expr) -> Known:
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node)
        if isinstance(node, ast.Subscript):
            return self._of_subscript(node)
        if isinstance(node, ast.List):
            return Kind(LIST, self._joined(node.elts))
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return Kind(LIST if isinstance(node, ast.ListComp) else GENERATOR, self.kind(node.elt))
        if isinstance(node, ast.Constant):
            return _of_constant(node.value)
        if isinstance(node, ast.IfExp):
            return self._joined([node.body, node.orelse])
        if isinstance(node, ast.BoolOp):
            return self._joined(node.values)
        if isinstance(node, ast.NamedExpr):
            return self.kind(node.value)
        if isinstance(node, ast.BinOp):
            return self._calculated(node)
        if isinstance(node, ast.Await):
            called = node.value if isinstance(node.value, ast.Call) else None
            held = called.func if called and isinstance(called.func, ast.Attribute) and not called.keywords else None
            found = self.kind(held.value) if held and held.attr == "async_exec" else None
            return Kind(RESPONSE) if found and found.name == REQUEST else None
        return Kind(LITERALS[type(node)]) if type(node) in LITERALS else None

    def _calculated(self, node: ast.BinOp) -> Known:
        sides = [self.kind(node.left), self.kind(node.right)]
        if sides[0] and sides[0].name == TEXT and isinstance(node.op, ast.Add | ast.Mod):
            return Kind(TEXT)
        names = {each.name if each else "" for each in sides}
        if sides[0] and sides[0].name == LIST and names <= {LIST, NUMBER}:
            return sides[0] if NUMBER in names else Kind(LIST)
        return Kind(ARRAY) if ARRAY in names and names <= {ARRAY, NUMBER} else None

    def _joined(self, nodes: list[ast.expr]) -> Known:
        """What all of them are."""
        if len(nodes) > _MOST:
            return None
        found = [self.kind(each) for each in nodes]
        if not found or None in found or len({each.name for each in found if each}) != 1:
            return None
        return found[0] if len(set(found)) == 1 else Kind(found[0].name)  # type: ignore[union-attr]

    def _of_name(self, node: ast.Name) -> Known:
        bound = binding_of(self._flow, node)
        if bound is None:
            return None
        if bound.function:
            return self._of_parameter(bound.function, node.id)
        if bound.target is not None:
            return self._of_target(bound.target, bound.value, node.id)
        found = self.kind(bound.value)
        if found and found.name == LIST and isinstance(bound.value, ast.List):
            return Kind(LIST, self._appended(node))  # it is filled by whatever else happens to it
        return found

    def _appended(self, node: ast.Name) -> Known:
        """What is appended to a list, if that is all that happens to it."""
        function = self._flow.function(node)
        given: list[ast.expr] = []
        for each in self._flow.names(function, node.id):
            parent = self._flow.parents.get(each)
            if isinstance(each.ctx, ast.Store):
                value = parent.value if isinstance(parent, ast.Assign) else None
                if not isinstance(value, ast.List):
                    return None
                given += value.elts
            elif isinstance(parent, ast.Attribute):
                call = self._flow.parents.get(parent)
                if parent.attr != "append" or not isinstance(call, ast.Call) or len(call.args) != 1:
                    return None
                given += call.args
            elif isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
                return None
        return self._joined(given)

    def _of_parameter(self, function: Function, name: str) -> Known:
        """Of what Triton passes, or all calls of a helper."""
        decorated = [
            self._file.full_name(each.func if isinstance(each, ast.Call) else each) for each in function.decorator_list
        ]
        if any(not each.startswith("torch.") for each in decorated):
            return None
        if function.name in ("execute", "initialize"):
            if function is not self._flow.method(function.name) or len(function.args.args) != 2:
                return None
            if function.args.args[1].arg != name:
                return None
            return Kind(LIST, Kind(REQUEST)) if requests_of(function) == name else Kind(ARGS)
        return self._joined(self.passed(function, name))

    def passed(self, function: Function, name: str) -> list[ast.expr]:
        """What all calls of a helper pass as its argument ``name``; [] when it is not known."""
        calls = self._flow.calls_of(function)
        if not calls or function.args.kwonlyargs or function.args.posonlyargs:
            return []
        own = any(function in each.body for each in self._flow.lineage)
        names = [each.arg for each in function.args.args]
        position = names.index(name) - own if name in names else -1
        passed = [argument(call, position, name) if position >= 0 else None for call in calls]
        return [each for each in passed if each is not None] if None not in passed else []

    def _of_target(self, target: ast.expr, iterated: ast.expr | None, name: str) -> Known:
        """Of a loop's variable."""
        if isinstance(target, ast.Name):
            return self._element(iterated)
        if not isinstance(target, ast.Tuple) or not isinstance(iterated, ast.Call) or iterated.keywords:
            return None
        place = next((n for n, each in enumerate(target.elts) if isinstance(each, ast.Name) and each.id == name), None)
        if place is None or not self._flow.is_builtin(iterated.func):
            return None
        called = iterated.func.id  # type: ignore[attr-defined]
        if called == "enumerate" and iterated.args:
            return Kind(NUMBER) if place == 0 else self._element(iterated.args[0])
        if called == "zip" and place < len(iterated.args):
            return self._element(iterated.args[place])
        return None

    def _element(self, node: ast.expr | None) -> Known:
        found = self.kind(node)
        return found.of if found else None

    def _of_call(self, node: ast.Call) -> Known:
        name = self._file.full_name(node.func)
        if name.startswith(f"{UTILS}."):
            return FUNCTIONS.get(name.removeprefix(f"{UTILS}."))
        if name == "json.loads":
            return Kind(CONFIG) if self._is_config(argument(node, 0, "s")) else None
        if self._flow.is_builtin(node.func) and name in BUILTINS and "." not in name:
            keeps = name in ("list", "sorted", "reversed", "iter") and len(node.args) == 1
            given = self.kind(node.args[0]) if keeps else None
            return Kind(BUILTINS[name], given.of if given else None)
        helper = self._flow.helper(node)
        if helper:
            return self._returned(helper)
        made = kind_of_call(self._file, node, name, self.kind)
        if made or not isinstance(node.func, ast.Attribute):
            return made
        holder, method = self.kind(node.func.value), node.func.attr
        if holder and holder.name in METHODS:
            decoupled = method == "exec" and (node.args or node.keywords)
            return None if decoupled else METHODS[holder.name].get(method)
        if holder and holder.name == TEXT:
            return _TEXT_METHODS.get(method)
        if holder and holder.name == LIST and method in ("append", "extend", "insert", "sort", "reverse", "clear"):
            return Kind(NONE)
        if method == "decode" and (holder is None or holder.name == BYTES) and _is_encoding(node):
            return Kind(TEXT)
        if (
            method == "get"
            and holder
            and holder.name in (ARGS, CONFIG, IO, PARAMETERS, PARAMETER)
            and len(node.args) == 1
        ):
            return self._of_key(holder.name, node.args[0])
        return kind_of_method(self._file, node, method, holder)

    def _is_config(self, node: ast.expr | None) -> bool:
        """Whether it is ``args["model_config"]``."""
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            holder, key = self.kind(node.value), node.slice
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            holder, key = self.kind(node.func.value), node.args[0]
        elif isinstance(node, ast.Name) and (bound := binding_of(self._flow, node)) and bound.target is None:
            return bound.value is not node and bound.value is not None and self._is_config(bound.value)
        else:
            return False
        return holder == Kind(ARGS) and isinstance(key, ast.Constant) and key.value == "model_config"

    def _returned(self, function: Function) -> Known:
        if isinstance(function, ast.AsyncFunctionDef):
            return Kind(COROUTINE)
        nodes = list(own_nodes(function))
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
            return Kind(GENERATOR)
        returned = [node.value for node in nodes if isinstance(node, ast.Return)]
        return self._joined([each for each in returned if each]) if returned and None not in returned else None

    def _of_attribute(self, node: ast.Attribute) -> Known:
        holder = self.kind(node.value)
        if holder and holder.name in METHODS:
            return Kind(METHOD) if node.attr in METHODS[holder.name] else None
        if holder and holder.name == ARRAY and node.attr == "T":
            return holder
        return self.kind(self.attribute(node))

    def attribute(self, node: ast.Attribute) -> ast.expr | None:
        """What ``self.name`` is, where the file binds it once."""
        values = self._attributes.get(node.attr, [])
        own = isinstance(node.value, ast.Name) and node.value.id == "self" and self._is_whole
        return values[0] if own and len(values) == 1 else None

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all that the model is stands in this file."""
        lineage = self._flow.lineage
        bases = lineage[-1].bases if lineage else []
        plain = all(isinstance(base, ast.Name) and base.id in ("object", "ABC") for base in bases)
        return bool(lineage) and plain and b"setattr" not in self._file.data and b"__dict__" not in self._file.data

    def _of_subscript(self, node: ast.Subscript) -> Known:
        holder = self.kind(node.value)
        if holder is None:
            return None
        if holder.name == LIST:
            return holder if isinstance(node.slice, ast.Slice) else holder.of
        return self._of_key(holder.name, node.slice)

    def _of_key(self, holder: str, key: ast.expr) -> Known:
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        if holder == PARAMETERS:
            return Kind(PARAMETER)
        if name is None:
            return None
        if holder == ARGS:
            return Kind(TEXT) if name in ARGUMENTS else Kind(NONE)
        if holder == PARAMETER:
            return Kind(TEXT) if name == "string_value" else None
        return {CONFIG: _OF_CONFIG, IO: _OF_IO}.get(holder, {}).get(name)


def _of_constant(value: object) -> Known:
    if value is None:
        return Kind(NONE)
    if isinstance(value, str | bytes):
        return Kind(TEXT if isinstance(value, str) else BYTES)
    return Kind(NUMBER) if isinstance(value, int | float | complex) else None


def _is_encoding(call: ast.Call) -> bool:
    """Whether it is surely ``bytes.decode``: other objects have a method of this name, too."""
    named = argument(call, 0, "encoding")
    return isinstance(named, ast.Constant) and str(named.value).lower() in ("utf-8", "utf8", "ascii", "latin-1")


@lru_cache(maxsize=128)
def types_of(file: PythonFile) -> Types:
    return Types(file)
