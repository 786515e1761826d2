"""The names that a module or a class may bind."""

import ast

from triton_ensembles.checking.python.nodes import Function, defined_names, is_changed

_BINDING = ("globals", "exec", "setattr")


def bound_names(top: ast.Module | ast.ClassDef) -> frozenset[str] | None:
    """Return the names that may be bound in this scope, also below ``if`` and ``try``; None when they may be any."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(top.body)
    while waiting:
        node = waiting.pop()
        names.update(defined_names(node))
        if isinstance(node, ast.Name) and is_changed(node):
            names.add(node.id)
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BINDING:
            return None
        if not isinstance(node, Function | ast.ClassDef):  # another scope
            waiting += ast.iter_child_nodes(node)
    is_any = "*" in names or (isinstance(top, ast.Module) and "__getattr__" in names)
    return None if is_any else frozenset(names)


def may_bind(top: ast.Module | ast.ClassDef, name: str) -> bool:
    names = bound_names(top)
    return names is None or name in names
