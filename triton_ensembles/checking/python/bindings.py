"""The values of names that one place alone binds in the nearest scope, or lines of one block, one after the other."""

import ast
from dataclasses import dataclass

from triton_ensembles.checking.python.nodes import Function
from triton_ensembles.checking.python.scope import Scopes

_MOST = 20  # lines that bind a name again


@dataclass(frozen=True)
class Binding:
    """A value that a name is bound to; with ``target``, the variables of a loop over ``value``."""

    value: ast.expr
    target: ast.expr | None = None


def binding_of(scopes: Scopes, name: ast.Name) -> Binding | None:
    """Return the binding that a name has; None where it may be one of several, or is no known value."""
    binders = scopes.binders(name)
    target = binders[0] if len(binders) == 1 else _last_before(scopes, binders[: _MOST + 1], name)
    if target is None:
        return None
    if value := assigned(scopes, target):
        return Binding(value)
    while isinstance(parent := scopes.parents.get(target), ast.Tuple):
        target = parent
    is_loop = isinstance(parent, ast.For | ast.comprehension) and parent.target is target
    return Binding(parent.iter, parent.target) if is_loop and isinstance(parent, ast.For | ast.comprehension) else None


def _last_before(scopes: Scopes, binders: list[ast.AST], name: ast.Name) -> ast.AST | None:
    """Return the last binder before a name, where all are assignments in the block that it stands in as well."""
    lines = [scopes.parents[binder] for binder in binders if assigned(scopes, binder)]
    block = scopes.parents.get(lines[0]) if lines and len(lines) == len(binders) <= _MOST else None
    line: ast.AST = name
    while (parent := scopes.parents.get(line)) is not block:
        if parent is None or isinstance(parent, ast.Lambda | Function):
            return None
        line = parent
    if block is None or not all(scopes.in_body(each, block) for each in (*lines, line)):
        return None
    before = [binder for binder, each in zip(binders, lines, strict=True) if _place(each) < _place(line)]
    return max(before, key=_place, default=None)


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def value_of(scopes: Scopes, node: ast.expr) -> ast.expr:
    """Return the value that a name is bound to, where it is not one of several; otherwise the expression itself."""
    binding = binding_of(scopes, node) if isinstance(node, ast.Name) else None
    return binding.value if binding and binding.target is None else node


def elements_of(scopes: Scopes, node: ast.expr) -> list[ast.expr] | None:
    """Return the elements of a list or tuple, with what is appended to its name; None where more is done to it."""
    value = value_of(scopes, node)
    if isinstance(value, ast.ListComp):
        elements = [value.elt]
    elif isinstance(value, ast.List | ast.Tuple):
        elements = list(value.elts)
    else:
        return None
    for use in scopes.names(scopes.function(node), node.id) if isinstance(node, ast.Name) else ():
        if call := appending(scopes, use):
            elements += call.args
        elif isinstance(scopes.parents.get(use), ast.Attribute | ast.Subscript | ast.AugAssign):
            return None
    return elements


def appending(scopes: Scopes, name: ast.Name) -> ast.Call | None:
    """Return the call ``name.append(value)`` that a name of a list stands in."""
    method = scopes.parents.get(name)
    call = scopes.parents.get(method) if isinstance(method, ast.Attribute) and method.attr == "append" else None
    return call if isinstance(call, ast.Call) and call.func is method and len(call.args) == 1 else None


def assigned(scopes: Scopes, node: ast.AST) -> ast.expr | None:
    """Return the value that an assignment gives this name or attribute, whole; None for whatever else binds it."""
    parent = scopes.parents.get(node)
    if isinstance(parent, ast.Assign):
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) and node is parent.target else None
