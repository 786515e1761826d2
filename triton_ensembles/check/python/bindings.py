"""Which binding of a name a line sees: the last one before it that surely ran, and that nothing may replace."""

import ast
from dataclasses import dataclass

from triton_ensembles.check.python.flow import Flow, Function


@dataclass(frozen=True)
class Binding:
    """What a name is bound to.

    Args:
        value: the expression, or None for a parameter of ``function``.
        target: of a loop over ``value``: the loop's variables; None where the name is ``value`` itself.
    """

    value: ast.expr | None
    target: ast.expr | None = None
    function: Function | None = None


def binding_of(flow: Flow, name: ast.Name) -> Binding | None:
    """None when it is not sure which one it is."""
    child: ast.AST = name
    skipped = False  # the first iterable of a comprehension is outside of it
    for parent, child in flow.above(name):
        if isinstance(parent, ast.comprehension):
            skipped = child is parent.iter
        elif isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            outside = skipped and child is parent.generators[0]
            for part in parent.generators if not outside else ():
                if flow.names(part.target, name.id):
                    return Binding(part.iter, part.target)
            skipped = False
        elif isinstance(parent, ast.Lambda):
            if any(each.arg == name.id for each in ast.walk(parent.args) if isinstance(each, ast.arg)):
                return None
        elif isinstance(parent, ast.ClassDef):
            return None
        elif isinstance(parent, ast.stmt | ast.ExceptHandler | ast.Module | ast.match_case):
            found, known = _before(flow, parent, child, name)
            if found or known:
                return found
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
                if not flow.in_body(child, parent):
                    return None
                return _of_function(flow, parent, name)
    return None


def _before(flow: Flow, parent: ast.AST, child: ast.AST, name: ast.Name) -> tuple[Binding | None, bool]:
    """The binding in the statements before ``child``, and whether the search ends here."""
    found = flow.block_of(child)
    if found is None:
        return None, _binds(flow, parent, name) and not isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign)
    statement = flow.binder_before(name.id, found[0], child)
    if statement:
        while flow.parents[statement] is not parent:
            statement = flow.parents[statement]
        if isinstance(statement, ast.Assign) and any(_is(each, name) for each in statement.targets):
            return Binding(statement.value), True
        if isinstance(statement, ast.AnnAssign) and statement.value and _is(statement.target, name):
            return Binding(statement.value), True
        return None, True
    if isinstance(parent, ast.For) and flow.in_body(child, parent) and flow.names(parent.target, name.id):
        return Binding(parent.iter, parent.target), True
    if isinstance(parent, ast.If):
        return None, _binds(flow, parent.test, name)
    if isinstance(parent, ast.With | ast.AsyncWith):
        return None, any(_binds(flow, item, name) for item in parent.items)
    if isinstance(parent, ast.Try | ast.TryStar) and flow.in_body(child, parent):
        return None, False
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
        return None, isinstance(parent, ast.Module)
    return None, _binds(flow, parent, name)  # a line that comes later may have run before, or not at all


def _of_function(flow: Flow, function: Function, name: ast.Name) -> Binding | None:
    given = function.args
    plain = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    if any(each.arg == name.id for each in plain):
        return Binding(None, None, function)
    if any(each and each.arg == name.id for each in (given.vararg, given.kwarg)) or _binds(flow, function, name):
        return None
    # Of a function or the module around it: whenever this one runs, so there may be one binding only.
    outer: ast.AST | None = function
    while outer := flow.parents.get(outer) if outer else None:
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) and _binds(flow, outer, name):
            bound = flow.binders(name.id, outer)
            parent = flow.parents.get(bound[0]) if len(bound) == 1 else None
            return Binding(parent.value) if isinstance(parent, ast.Assign) and parent.targets == bound else None
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [each for each in ast.walk(outer.args) if isinstance(each, ast.arg)]
            if any(each.arg == name.id for each in arguments):
                return Binding(None, None, outer)
    return None


def _is(target: ast.expr, name: ast.Name) -> bool:
    return isinstance(target, ast.Name) and target.id == name.id


def _binds(flow: Flow, below: ast.AST, name: ast.Name) -> bool:
    return flow.binds(name.id, below)
