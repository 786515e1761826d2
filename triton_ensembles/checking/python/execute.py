"""The method execute of a model, and what becomes of its requests."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.definitions import lineage_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import (
    Function,
    is_name,
    is_none,
    is_over,
    own_nodes,
    positional,
    requests_of,
)
from triton_ensembles.checking.python.source import UTILS, PythonFile, model_files
from triton_ensembles.checking.repository import Model

_DEEPEST = 3  # helpers that pass requests on
_ANSWERING = ("get_response_sender", "set_release_flags")
# What a request may be given to without being answered there.
_HARMLESS = frozenset(
    {"len", "enumerate", "zip", "range", "list", "tuple", "reversed", "print", "str", "repr", "isinstance", "id", "map"}
)


def executes(model: Model) -> Iterator[tuple[PythonFile, Function]]:
    """Yield the method execute of each version, if nothing wraps or replaces it."""
    for file in model_files(model):
        lineage, _ = lineage_of(file)
        if any(node.decorator_list or node.keywords for _, node in lineage):
            continue
        members = [member for _, node in lineage for member in node.body]
        home, execute = flow_of(file).defining("execute") or (file, None)
        is_only = [getattr(member, "name", "") for member in members].count("execute") == 1
        if isinstance(execute, Function) and is_only and not execute.decorator_list and requests_of(execute):
            yield home, execute


def gives_none(function: Function) -> bool:
    """Return whether a function returns None whatever happens in it."""
    for node in own_nodes(function):
        if isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
            return False
    return True


def gives_away(file: PythonFile, execute: Function) -> bool:
    """Return whether the requests may be answered elsewhere: by their response senders, or by whoever gets them."""
    for part in file.together:
        if part.module is None or any(map(flow_of(part).is_used, _ANSWERING)):
            return True
    return _passes_on(file, execute, requests_of(execute), _DEEPEST)


def _passes_on(file: PythonFile, function: Function, requests: str, depth: int) -> bool:
    """Return whether somebody outside of the file gets ``requests``, a parameter of the function, or one of them."""
    names = {requests}
    for node in own_nodes(function):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and is_over(node.iter, requests):
            names |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    for node in own_nodes(function):
        if isinstance(node, ast.Call):
            if _passes_to(file, node, names, depth):
                return True
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.NamedExpr | ast.AnnAssign | ast.Lambda | ast.Return):
            value = node.body if isinstance(node, ast.Lambda) else node.value
            if isinstance(value, ast.Name) and value.id == requests:
                return True
        elif isinstance(node, Function | ast.ClassDef):
            return True
    return False


def _passes_to(file: PythonFile, call: ast.Call, names: set[str], depth: int) -> bool:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    values = [value.value if isinstance(value, ast.Starred) else value for value in arguments]
    name = file.full_name(call.func)
    if not any(isinstance(value, ast.Name) and value.id in names for value in values):
        return False
    if name in _HARMLESS or name.startswith(f"{UTILS}."):
        return False
    home, helper = flow_of(file).helper(call) or (file, None)
    is_plain = all(isinstance(value, ast.Name | ast.Constant) for value in arguments) and not call.keywords
    if not isinstance(helper, Function) or not depth or not is_plain or helper.args.vararg or helper.args.kwonlyargs:
        return True
    parameters = positional(helper)[is_name(getattr(call.func, "value", None), "self") :]
    return any(
        getattr(value, "id", "") in names and _passes_on(home, helper, parameter, depth - 1)
        for value, parameter in zip(arguments, parameters, strict=False)
    )
