"""Questions about single nodes of a syntax tree, functions and calls, which their text alone answers."""

import ast
import sys
from functools import lru_cache
from typing import TypeAlias, TypeGuard

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
With: TypeAlias = ast.With | ast.AsyncWith
Try: TypeAlias = ast.Try | ast.TryStar


def is_none(node: ast.AST | None) -> bool:
    """Return whether this is the word ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


def is_name(node: ast.AST | None, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name


def is_main(node: ast.AST) -> TypeGuard[ast.If]:
    """Return whether this is ``if __name__ == "__main__":``."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    texts = [side.value for side in sides if isinstance(side, ast.Constant)]
    is_equal = len(sides) == 2 and isinstance(node.test.ops[0], ast.Eq)
    return is_equal and texts == ["__main__"] and any(is_name(side, "__name__") for side in sides)


def is_changed(node: ast.AST) -> bool:
    """Return whether a name, an attribute or an element is assigned to, or deleted."""
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)


def name_of(node: ast.AST | None) -> str:
    """Return the last part of a name: ``c`` of ``a.b.c``; "" for what is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST) -> str:
    """Return ``a.b.c`` of such a name, "" for what is no name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def method_of(call: ast.Call) -> str:
    """Return ``send`` of ``sender.send(…)``, "" for a call of a plain name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def is_called(node: ast.AST, name: str) -> bool:
    """Return whether this is a call of ``….name()``."""
    return isinstance(node, ast.Call) and method_of(node) == name


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return the argument that is given at ``position`` or by ``name``; None as well when ``*`` or ``**`` hide it."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    before = call.args[: position + 1]
    return before[position] if len(before) > position and not any(isinstance(a, ast.Starred) for a in before) else None


def hides_arguments(call: ast.Call) -> bool:
    """Return whether ``*`` or ``**`` hide some of its arguments."""
    starred = any(isinstance(value, ast.Starred) for value in call.args)
    return starred or any(keyword.arg is None for keyword in call.keywords)


def positional(function: Function) -> list[str]:
    """Return the names of the parameters that take positional arguments, without ``*args``."""
    return [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]


def takes(function: Function, count: int) -> bool:
    """Return whether a function takes ``count`` positional arguments, and needs no others."""
    signature, names = function.args, positional(function)
    if count > len(names) and signature.vararg is None:
        return False
    return len(names) - len(signature.defaults) <= count and None not in signature.kw_defaults


def requests_of(function: Function) -> str:
    """Return the name of the parameter of ``execute`` that has the requests, "" in other functions."""
    names = positional(function)
    return names[-1] if function.name == "execute" and names else ""


def is_over(iterated: ast.expr, requests: str) -> bool:
    """Return whether a loop runs over the requests, of which there is at least one: all of them, in whatever order."""
    while isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.args:
        if iterated.func.id not in ("enumerate", "list", "reversed", "tuple"):
            return False
        iterated = iterated.args[0]
    return is_name(iterated, requests)


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node binds, or says to be bound elsewhere (``global``)."""
    if isinstance(node, ast.Name):
        return [node.id] if is_changed(node) else []
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    return list(node.names) if isinstance(node, ast.Global | ast.Nonlocal) else []


@lru_cache(maxsize=256)
def own_nodes(function: Function) -> tuple[ast.AST, ...]:
    """Return the nodes of a function's body, without those of the functions and classes in it."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(node)))
    return tuple(nodes)


def gives_none(function: Function) -> bool:
    """Return whether a function returns None whatever happens in it."""
    for node in own_nodes(function):
        if isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
            return False
    return True


def may_end_before(function: Function | None, node: ast.AST) -> bool:
    """Return whether the function may end before this node, or is a generator, whose body a call does not run."""
    return function is not None and _first_end(function) < getattr(node, "lineno", 0)


@lru_cache(maxsize=256)
def _first_end(function: Function) -> int:
    """Return the line where the first return ends, 0 in a generator."""
    nodes = own_nodes(function)
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return 0
    lines = (node.end_lineno or 0 for node in nodes if isinstance(node, ast.Return))
    return min(lines, default=sys.maxsize)
