"""The type that an expression of model.py certainly has, followed through names, loops, helpers and attributes."""

import ast
from functools import cached_property, lru_cache

from triton_ensembles.checking.python.arrays import type_of_call, type_of_method
from triton_ensembles.checking.python.bindings import assigned, binding_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.kinds import ARGUMENTS, BUILTINS, DICTIONARIES, FUNCTIONS, METHODS, Kind, Type
from triton_ensembles.checking.python.nodes import Function, argument, is_changed, is_name, own_nodes, positional
from triton_ensembles.checking.python.source import UTILS, PythonFile

_DEEPEST = 30  # names that lead to names, helpers that call helpers
_MOST = 100  # elements of a list that are looked at
_FILLING = ("update", "setdefault", "pop", "popitem")
_CHANGING_LISTS = ("append", "extend", "insert", "sort", "reverse", "clear")
_TEXT, _NUMBER = Type(Kind.TEXT), Type(Kind.NUMBER)
_CONFIG_TEXT = Type(Kind.TEXT, Type(Kind.CONFIG))
_OF_CONSTANTS: dict[type, Type] = {
    **dict.fromkeys((bool, int, float, complex), _NUMBER),
    **{str: _TEXT, bytes: Type(Kind.BYTES), type(None): Type(Kind.NONE)},
}
_OF_LITERALS: dict[type, Kind] = {
    ast.Tuple: Kind.TUPLE, ast.Dict: Kind.DICT, ast.DictComp: Kind.DICT, ast.Set: Kind.SET, ast.SetComp: Kind.SET,
    ast.GeneratorExp: Kind.GENERATOR, ast.JoinedStr: Kind.TEXT,
}  # fmt: skip
_OF_CONFIG = {
    **dict.fromkeys(("input", "output"), Type(Kind.LIST, Type(Kind.IO))),
    "parameters": Type(Kind.PARAMETERS),
    "max_batch_size": _NUMBER,
    "name": _TEXT,
}
_OF_IO = {"name": _TEXT, "data_type": _TEXT, "dims": Type(Kind.LIST, _NUMBER)}
_OF_TEXTS = {
    **dict.fromkeys(("join", "format", "strip", "lower", "upper", "replace", "removeprefix", "removesuffix"), _TEXT),
    **dict.fromkeys(("split", "splitlines"), Type(Kind.LIST, _TEXT)),
    "encode": Type(Kind.BYTES),
}


class Types:
    """The types of the expressions of one file; None stands for what is not known."""

    def __init__(self, file: PythonFile) -> None:
        self._file = file
        self._flow = flow_of(file)
        self._known: dict[ast.expr, Type | None] = {}
        self._depth = 0
        self._attributes: dict[str, list[ast.expr | None]] = {}
        self._filled: list[ast.expr] = []  # what is changed where it is
        self._is_config_changed: bool | None = None
        for node in file.nodes:
            if isinstance(node, ast.Subscript) and is_changed(node):
                self._filled.append(node.value)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
                self._filled.append(node.func.value)
            elif isinstance(node, ast.Attribute) and is_changed(node):
                value = assigned(self._flow, node) if is_name(node.value, "self") else None
                self._attributes.setdefault(node.attr, []).append(value)

    def kind(self, node: ast.expr | None) -> Kind | None:
        known = self.type_of(node)
        return known.kind if known else None

    def type_of(self, node: ast.expr | None) -> Type | None:
        if node is None or self._depth > _DEEPEST:
            return None
        if self._is_config_changed is None:
            self._is_config_changed = False
            kinds = [self.kind(holder) for holder in self._filled]
            self._is_config_changed = any(kind in DICTIONARIES for kind in kinds)
            self._known.clear()
        if node not in self._known:
            self._known[node] = None  # for what is defined by itself
            self._depth += 1
            try:
                known = self._evaluated(node)
                is_stale = self._is_config_changed and known is not None and known.kind in DICTIONARIES
                self._known[node] = None if is_stale else known
            finally:
                self._depth -= 1
        return self._known[node]

    def _evaluated(self, node: ast.expr) -> Type | None:
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node)
        if isinstance(node, ast.Subscript):
            return self._of_subscript(node)
        if isinstance(node, ast.List):
            return Type(Kind.LIST, self._common(node.elts))
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return Type(Kind.LIST if isinstance(node, ast.ListComp) else Kind.GENERATOR, self.type_of(node.elt))
        if isinstance(node, ast.Constant):
            return _OF_CONSTANTS.get(type(node.value))
        if isinstance(node, ast.IfExp):
            return self._common([node.body, node.orelse])
        if isinstance(node, ast.BoolOp):
            return self._common(node.values)
        if isinstance(node, ast.NamedExpr):
            return self.type_of(node.value)
        if isinstance(node, ast.BinOp):
            return self._calculated(node)
        if isinstance(node, ast.Await):
            return self._awaited(node.value)
        return Type(_OF_LITERALS[type(node)]) if type(node) in _OF_LITERALS else None

    def _calculated(self, node: ast.BinOp) -> Type | None:
        left, right = self.type_of(node.left), self.type_of(node.right)
        if left and left.kind is Kind.TEXT and isinstance(node.op, ast.Add | ast.Mod):
            return _TEXT
        kinds = {side.kind if side else None for side in (left, right)}
        if left and left.kind is Kind.LIST and kinds <= {Kind.LIST, Kind.NUMBER}:
            return left if Kind.NUMBER in kinds else Type(Kind.LIST)
        return Type(Kind.ARRAY) if Kind.ARRAY in kinds and kinds <= {Kind.ARRAY, Kind.NUMBER} else None

    def _awaited(self, call: ast.expr) -> Type | None:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.keywords:
            return None
        is_exec = call.func.attr == "async_exec" and self.kind(call.func.value) is Kind.REQUEST
        return Type(Kind.RESPONSE) if is_exec else None

    def _common(self, nodes: list[ast.expr]) -> Type | None:
        types = {self.type_of(node) for node in nodes} if len(nodes) <= _MOST else set()
        kinds = {known.kind if known else None for known in types}
        if len(types) == 1:
            return types.pop()
        kind = kinds.pop() if len(kinds) == 1 else None
        return Type(kind) if kind else None

    def _of_name(self, node: ast.Name) -> Type | None:
        binding = binding_of(self._flow, node)
        if binding is None:
            return None
        if binding.function:
            return self._of_parameter(binding.function, node.id)
        if binding.target is not None:
            return self._of_target(binding.target, binding.value, node.id)
        if isinstance(binding.value, ast.List):  # it is filled by whatever else happens to it
            return Type(Kind.LIST, self._appended(node))
        return self.type_of(binding.value)

    def _appended(self, node: ast.Name) -> Type | None:
        """The type of what is appended to a list, if that is all that happens to it."""
        function = self._flow.function(node)
        elements: list[ast.expr] = []
        for use in self._flow.names(function, node.id):
            parent = self._flow.parents.get(use)
            if isinstance(use.ctx, ast.Store):
                value = parent.value if isinstance(parent, ast.Assign) else None
                if not isinstance(value, ast.List):
                    return None
                elements += value.elts
            elif isinstance(parent, ast.Attribute):
                call = self._flow.appending(use)
                if call is None:
                    return None
                elements += call.args
            elif isinstance(parent, ast.Subscript) and is_changed(parent):
                return None
        return self._common(elements)

    def _of_parameter(self, function: Function, name: str) -> Type | None:
        """The type of what Triton passes, or all calls of a helper."""
        for decorator in function.decorator_list:
            made_by = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not self._file.full_name(made_by).startswith("torch."):
                return None
        if function.name in ("execute", "initialize"):
            parameters = function.args.args
            if function is not self._flow.method(function.name) or len(parameters) != 2 or parameters[1].arg != name:
                return None
            return Type(Kind.LIST, Type(Kind.REQUEST)) if function.name == "execute" else Type(Kind.ARGS)
        return self._common(self.passed(function, name))

    def passed(self, function: Function, name: str) -> list[ast.expr]:
        """The values that all calls of a helper pass as its argument ``name``; [] when they are not known."""
        calls = self._flow.calls_of(function)
        names = positional(function)
        if not calls or name not in names or function.args.kwonlyargs or function.args.posonlyargs:
            return []
        is_method = any(function in node.body for node in self._flow.lineage)
        position = names.index(name) - is_method
        values = [argument(call, position, name) if position >= 0 else None for call in calls]
        return [value for value in values if value is not None] if None not in values else []

    def _of_target(self, target: ast.expr, iterated: ast.expr | None, name: str) -> Type | None:
        if isinstance(target, ast.Name):
            return self._element(iterated)
        if not isinstance(target, ast.Tuple) or not isinstance(iterated, ast.Call) or iterated.keywords:
            return None
        place = next((place for place, variable in enumerate(target.elts) if is_name(variable, name)), None)
        if place is None or not self._flow.is_builtin(iterated.func):
            return None
        if is_name(iterated.func, "enumerate") and iterated.args:
            return _NUMBER if place == 0 else self._element(iterated.args[0])
        if is_name(iterated.func, "zip") and place < len(iterated.args):
            return self._element(iterated.args[place])
        return None

    def _element(self, node: ast.expr | None) -> Type | None:
        holder = self.type_of(node)
        return holder.element if holder else None

    def _of_call(self, node: ast.Call) -> Type | None:
        name = self._file.full_name(node.func)
        if name.startswith(f"{UTILS}."):
            return FUNCTIONS.get(name.removeprefix(f"{UTILS}."))
        if name == "json.loads":
            text = self.type_of(argument(node, 0, "s"))
            return text.element if text and text.kind is Kind.TEXT else None
        if name in BUILTINS and self._flow.is_builtin(node.func):
            keeps = name in ("list", "sorted", "reversed", "iter") and len(node.args) == 1
            return Type(BUILTINS[name], self._element(node.args[0]) if keeps else None)
        helper = self._flow.helper(node)
        if helper:
            return self._returned(helper)
        known = type_of_call(self._file, node, name, self.type_of)
        return self._of_method(node, node.func) if known is None and isinstance(node.func, ast.Attribute) else known

    def _of_method(self, node: ast.Call, function: ast.Attribute) -> Type | None:
        holder, method = self.type_of(function.value), function.attr
        kind = holder.kind if holder else None
        if kind in METHODS:
            is_decoupled = method == "exec" and (node.args or node.keywords)
            return None if is_decoupled else METHODS[kind].get(method)
        if kind is Kind.TEXT:
            return _OF_TEXTS.get(method)
        if kind is Kind.LIST and method in _CHANGING_LISTS:
            return Type(Kind.NONE)
        if method == "decode" and kind in (None, Kind.BYTES) and _is_encoding(node):
            return _TEXT
        if kind in DICTIONARIES and method == "get" and node.args:
            known = self._of_key(kind, node.args[0])
            return known if len(node.args) == 1 or known is _CONFIG_TEXT else None
        return type_of_method(self._file, node, method, holder)

    def _returned(self, function: Function) -> Type | None:
        if isinstance(function, ast.AsyncFunctionDef):
            return Type(Kind.COROUTINE)
        nodes = own_nodes(function)
        if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
            return Type(Kind.GENERATOR)
        values = [node.value for node in nodes if isinstance(node, ast.Return)]
        return self._common([value for value in values if value]) if None not in values else None

    def _of_attribute(self, node: ast.Attribute) -> Type | None:
        holder = self.type_of(node.value)
        if holder and holder.kind in METHODS:
            return Type(Kind.METHOD) if node.attr in METHODS[holder.kind] else None
        if holder and holder.kind is Kind.ARRAY and node.attr == "T":
            return holder
        return self.type_of(self.attribute(node))

    def attribute(self, node: ast.Attribute) -> ast.expr | None:
        """The value of ``self.name``, where the file binds it once."""
        values = self._attributes.get(node.attr, [])
        return values[0] if len(values) == 1 and is_name(node.value, "self") and self._is_whole else None

    @cached_property
    def _is_whole(self) -> bool:
        hidden = any(word in self._file.data for word in (b"setattr", b"__dict__"))
        return self._flow.has_plain_bases and not hidden

    def _of_subscript(self, node: ast.Subscript) -> Type | None:
        holder = self.type_of(node.value)
        if holder is None:
            return None
        if holder.kind is Kind.LIST:
            return holder if isinstance(node.slice, ast.Slice) else holder.element
        return self._of_key(holder.kind, node.slice)

    def _of_key(self, holder: Kind, key: ast.expr) -> Type | None:
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        if holder is Kind.PARAMETERS:
            return Type(Kind.PARAMETER)
        if name is None:
            return None
        if holder is Kind.ARGS:
            return _CONFIG_TEXT if name == "model_config" else _TEXT if name in ARGUMENTS else Type(Kind.NONE)
        if holder is Kind.PARAMETER:
            return _TEXT if name == "string_value" else None
        return {Kind.CONFIG: _OF_CONFIG, Kind.IO: _OF_IO}.get(holder, {}).get(name)


def _is_encoding(call: ast.Call) -> bool:
    """Whether it is certainly ``bytes.decode``: other objects have a method of this name as well."""
    encoding = argument(call, 0, "encoding")
    return isinstance(encoding, ast.Constant) and str(encoding.value).lower() in ("utf-8", "utf8", "ascii", "latin-1")


types_of = lru_cache(maxsize=128)(Types)
