"""The binding of a name that a line sees: the last one before it that certainly ran, and that nothing may replace."""

import ast
from dataclasses import dataclass

from triton_ensembles.checking.python.flow import Flow
from triton_ensembles.checking.python.nodes import Comprehension, Function, Try, With, is_name


@dataclass(frozen=True)
class Binding:
    """A value that a name is bound to; with ``target``, the variables of a loop over ``value``."""

    value: ast.expr
    target: ast.expr | None = None


def binding_of(flow: Flow, name: ast.Name) -> Binding | None:
    """Return the binding that a name has where it stands; None when it is not certain which one it is."""
    child: ast.AST = name
    is_in_iterable = False  # the first iterable of a comprehension is outside of it
    for parent, child in flow.above(name):
        if isinstance(parent, ast.comprehension):
            is_in_iterable = child is parent.iter
        elif isinstance(parent, Comprehension):
            is_outside = is_in_iterable and child is parent.generators[0]
            for generator in parent.generators if not is_outside else ():
                if flow.names(generator.target, name.id):
                    return Binding(generator.iter, generator.target)
            is_in_iterable = False
        elif isinstance(parent, ast.Lambda):
            if _has_parameter(parent, name):
                return None
        elif isinstance(parent, ast.stmt | ast.ExceptHandler | ast.Module | ast.match_case):
            binding, is_last = _before(flow, parent, child, name)
            if binding or is_last:
                return binding
            if isinstance(parent, Function) and flow.in_body(child, parent):
                return _around(flow, parent, name)
    return None


def value_of(flow: Flow, node: ast.expr) -> ast.expr:
    """Return the value that a name is bound to, where it is not one of several; otherwise the expression itself."""
    binding = binding_of(flow, node) if isinstance(node, ast.Name) else None
    return binding.value if binding and binding.target is None else node


def assigned(flow: Flow, node: ast.AST) -> ast.expr | None:
    """Return the value that an assignment gives this name or attribute, whole; None for whatever else binds it."""
    parent = flow.parents.get(node)
    if isinstance(parent, ast.Assign):
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) and node is parent.target else None


def _before(flow: Flow, parent: ast.AST, child: ast.AST, name: ast.Name) -> tuple[Binding | None, bool]:
    """Return the binding in the statements before ``child``, and whether the search ends here."""
    place = flow.block_of(child)
    if place is None:
        is_statement = isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign)
        return None, flow.binds(name.id, parent) and not is_statement
    statement = flow.binder_before(name.id, place[0], child)
    if statement:
        while flow.parents[statement] is not parent:
            statement = flow.parents[statement]
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        target = next((target for target in targets if is_name(target, name.id)), None)
        value = assigned(flow, target) if target else None
        return (Binding(value) if value else None), True
    if isinstance(parent, ast.For) and flow.in_body(child, parent) and flow.names(parent.target, name.id):
        return Binding(parent.iter, parent.target), True
    if isinstance(parent, ast.If):
        return None, flow.binds(name.id, parent.test)
    if isinstance(parent, With):
        return None, any(flow.binds(name.id, item) for item in parent.items)
    if isinstance(parent, Try) and flow.in_body(child, parent):
        return None, False
    if isinstance(parent, Function | ast.Module):
        return None, isinstance(parent, ast.Module)
    return None, flow.binds(name.id, parent)  # a line that comes later may have run before, or not at all


def _around(flow: Flow, function: Function, name: ast.Name) -> Binding | None:
    """Return the binding in what is around a function: whenever it runs, so there may be one only."""
    outer: ast.AST | None = function
    if _has_parameter(function, name) or flow.binds(name.id, function):
        return None
    while outer := flow.parents.get(outer) if outer else None:
        if isinstance(outer, Function) and _has_parameter(outer, name):
            return None
        if isinstance(outer, Function | ast.Module) and flow.binds(name.id, outer):
            binders = flow.binders(name.id, outer)
            value = assigned(flow, binders[0]) if len(binders) == 1 else None
            return Binding(value) if value else None
    return None


def _has_parameter(function: Function | ast.Lambda, name: ast.Name) -> bool:
    return any(isinstance(node, ast.arg) and node.arg == name.id for node in ast.walk(function.args))
