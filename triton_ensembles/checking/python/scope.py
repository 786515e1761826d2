"""The bindings of each name of a Python file, by the scope that it is a name of: the one table of names."""

import ast
from collections.abc import Iterator
from typing import get_args

from triton_ensembles.checking.python.nodes import Comprehension, Function, bound_names, is_changed

_SCOPES = (*get_args(Function), *get_args(Comprehension), ast.Lambda, ast.ClassDef, ast.Module)
_BINDING = ("globals", "exec", "setattr")  # functions after which a scope may have any name


class Scopes:
    """The parents of all nodes of a file, and the nodes that bind its names and set its attributes."""

    def __init__(self, nodes: tuple[ast.AST, ...]) -> None:
        """Take the nodes, each after its parent."""
        self.module = nodes[0] if nodes else ast.Module([], [])
        self.parents: dict[ast.AST, ast.AST] = {}
        self.attributes: dict[str, list[ast.Attribute]] = {}  # that are assigned to, of whatever object
        self.members: dict[str, list[ast.AST]] = {}  # what binds a name in the body of a class
        self._binders: dict[ast.AST, dict[str, list[ast.AST]]] = {}
        self._everywhere: dict[str, list[ast.AST]] = {}  # but methods of classes
        self._shared: set[str] = set()  # names that are global or nonlocal somewhere
        self._open: set[ast.AST] = set()  # scopes that may have any name
        self._bodies: set[ast.AST] = set()  # what stands in the body of its parent
        self._names: dict[ast.AST, dict[str, list[ast.Name]]] = {}  # answers that were given before
        for node in nodes:
            body = getattr(node, "body", None)
            self._bodies.update(body if isinstance(body, list) else [body] if body else [])
            self.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
            if isinstance(node, ast.Attribute) and is_changed(node):
                self.attributes.setdefault(node.attr, []).append(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BINDING:
                self._open.add(self._scope(node))
            for name in bound_names(node):
                self._bind(name, node)

    def _bind(self, name: str, node: ast.AST) -> None:
        scope = self.module if isinstance(node, ast.Global) else self._scope(node)
        if isinstance(node, ast.Global | ast.Nonlocal):
            self._shared.add(name)
        if name == "*" or (name == "__getattr__" and scope is self.module):
            self._open.add(scope)
        self._binders.setdefault(scope, {}).setdefault(name, []).append(node)
        if isinstance(scope, ast.ClassDef):
            self.members.setdefault(name, []).append(node)
        if not isinstance(self.parents.get(node), ast.ClassDef):
            self._everywhere.setdefault(name, []).append(node)

    def _scope(self, node: ast.AST) -> ast.AST:
        """Return the node whose name this is: what ``:=`` binds in a comprehension is of the scope around it."""
        scopes = [parent for parent, _ in self.above(node) if isinstance(parent, _SCOPES)]
        if isinstance(self.parents.get(node), ast.NamedExpr):
            scopes = [scope for scope in scopes if not isinstance(scope, Comprehension)]
        return scopes[0] if scopes else self.module

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield the parents from the innermost, each with the child through which it was reached."""
        child = node
        while parent := self.parents.get(child):
            yield parent, child
            child = parent

    def function(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        return next((parent for parent, _ in self.above(node) if isinstance(parent, Function)), None)

    def in_body(self, child: ast.AST, parent: ast.AST) -> bool:
        """Return ``child in parent.body`` at once: a function may have a hundred thousand lines."""
        return child in self._bodies and self.parents.get(child) is parent

    def names(self, below: ast.AST | None, name: str) -> list[ast.Name]:
        """Return the places of a name in a node, as :func:`ast.walk` finds them."""
        if below is None:
            return []
        if below not in self._names:
            places = self._names[below] = {}
            for node in ast.walk(below):
                if isinstance(node, ast.Name):
                    places.setdefault(node.id, []).append(node)
        return self._names[below].get(name, [])

    def bound_in(self, scope: ast.AST) -> frozenset[str] | None:
        """Return the names that may be bound in a module or a class, also below ``if``; None when they may be any."""
        return None if scope in self._open else frozenset(self._binders.get(scope, ()))

    def may_bind(self, scope: ast.AST, name: str) -> bool:
        return scope in self._open or name in self._binders.get(scope, ())

    def binders_in(self, scope: ast.AST, name: str) -> list[ast.AST]:
        """Return the nodes that bind a name in this scope."""
        return self._binders.get(scope, {}).get(name, [])

    def everywhere(self, name: str) -> list[ast.AST]:
        """Return the nodes that bind a name in any scope of the file, but the methods of classes."""
        return self._everywhere.get(name, [])

    def is_builtin(self, node: ast.expr) -> bool:
        """Return whether a name is Python's own: the file never binds it."""
        return isinstance(node, ast.Name) and node.id not in self._everywhere

    def binders(self, name: ast.Name) -> list[ast.AST]:
        """Return the nodes that bind a name in the nearest scope that has any, parameters and imports among them; none
        for what may be bound elsewhere as well."""
        iterable: ast.AST | None = None  # the first one of a comprehension is outside of it
        is_inner = False
        for parent, child in self.above(name) if name.id not in self._shared else ():
            if isinstance(parent, ast.comprehension):
                iterable = parent if child is parent.iter else None
            elif isinstance(parent, Comprehension):
                is_seen = child is not iterable or child is not parent.generators[0]
            elif isinstance(parent, _SCOPES):
                is_seen = isinstance(parent, ast.Module) or self.in_body(child, parent)
                is_seen = is_seen and not (is_inner and isinstance(parent, ast.ClassDef))
                is_inner = True
            if isinstance(parent, _SCOPES) and is_seen and (binders := self.binders_in(parent, name.id)):
                return binders
        return []
