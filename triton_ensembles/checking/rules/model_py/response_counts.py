"""How many responses execute returns: one for each request."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE_LINE, LOOP, class_model
from triton_ensembles.checking.python.execute import executes, gives_away
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import Function, is_over, own_nodes, requests_of
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.rule import Finding, Model, rule, warning

SOURCE = (
    "python_backend r24.10 src/pb_stub.cc ProcessReturnedResponses; measured on 2.51.0: the numbers of responses and "
    "of requests must be the same"
)
GOOD = class_model()
_SEVERAL = "when Triton gives it several requests at once, which dynamic batching does, all of them fail: "
_COMPLAINT = "Number of InferenceResponse objects do not match the number of InferenceRequest objects"
_LIST = "        responses = []\n"
_APPEND = "responses.append(response)\n"
_RETURN = "        return responses\n"


@warning(
    "execute returns after the loop over its requests, not in it",
    bad=class_model(f"{EXECUTE_LINE}{LOOP}            return [response]\n"),
)
def model_py_returns_in_loop(model: Model) -> Iterator[Finding]:
    if model.config.model_transaction_policy.decoupled:
        return
    for file, execute in executes(model):
        for loop in own_nodes(execute):
            if not isinstance(loop, ast.For) or not is_over(loop.iter, requests_of(execute)):
                continue
            for node in loop.body:
                if isinstance(node, ast.Return) and node.value is not None:
                    cure = "collect the responses in a list, and return it after the loop"
                    yield Finding(file.place(node), "execute returns at its first request", _SEVERAL + _COMPLAINT, cure)


@rule(
    "execute appends one response for each request",
    bad=class_model(f"{EXECUTE_LINE}{_LIST}{LOOP}{(' ' * 12 + _APPEND) * 2}{_RETURN}"),
)
def model_py_responses_twice(model: Model) -> Iterator[Finding]:
    for file, execute, appends in _filled(model):
        for loop in _loops(execute):
            places = [place for place, statement in enumerate(loop.body) if statement in appends]
            if len(places) > 1 and not _may_leave(loop.body[places[0] : places[1]]):
                message = "execute appends a second response for the same request"
                effect = f"the model loads, and every request fails: {_COMPLAINT}"
                cure = "give one InferenceResponse all the output tensors of its request"
                yield Finding(file.place(loop.body[places[1]]), message, effect, cure)


@warning(
    "execute appends its responses in the loop over its requests, not after it",
    bad=class_model(f"{EXECUTE_LINE}{_LIST}{LOOP}{' ' * 8}{_APPEND}{_RETURN}"),
)
def model_py_responses_after_loop(model: Model) -> Iterator[Finding]:
    for file, execute, appends in _filled(model):
        after = [statement for statement in execute.body if statement in appends]
        if len(after) == len(appends) and any(_loops(execute)):
            message = "execute appends no response in the loop over its requests, only outside of it"
            cure = "append the response of each request in the loop: indent the line"
            yield Finding(file.place(after[0]), message, _SEVERAL + _COMPLAINT, cure)


def _filled(model: Model) -> Iterator[tuple[PythonFile, Function, set[ast.stmt]]]:
    """Yield the execute of each version that returns a list, with the statements that append to it, if that is all that
    happens to a list that begins empty."""
    if model.config.model_transaction_policy.decoupled:
        return
    for file, execute in executes(model):
        returns = [node for node in own_nodes(execute) if isinstance(node, ast.Return)]
        if len(returns) != 1 or not isinstance(returns[0].value, ast.Name) or gives_away(file, execute):
            continue
        uses = [_use(file, node) for node in flow_of(file).names(execute, returns[0].value.id)]
        appends: set[ast.stmt] = {use for use in uses if isinstance(use, ast.Expr)}
        begins = [use for use in uses if isinstance(use, ast.Assign)]
        if appends and len(begins) == 1 and begins[0] in execute.body and None not in uses:
            yield file, execute, appends


def _use(file: PythonFile, name: ast.Name) -> ast.stmt | None:
    """Return the statement, if it is ``name = []``, ``name.append(…)`` or ``return name``."""
    parents = flow_of(file).parents
    parent = parents.get(name)
    if isinstance(parent, ast.Return):
        return parent
    if isinstance(parent, ast.Assign) and parent.targets == [name]:
        return parent if isinstance(parent.value, ast.List) and not parent.value.elts else None
    call = flow_of(file).appending(name)
    statement = parents.get(call) if call else None
    return statement if isinstance(statement, ast.Expr) else None


def _loops(execute: Function) -> Iterator[ast.For]:
    requests = requests_of(execute)
    return (loop for loop in execute.body if isinstance(loop, ast.For) and is_over(loop.iter, requests))


def _may_leave(statements: list[ast.stmt]) -> bool:
    """Return whether what follows these statements of a loop may be left out."""
    return any(
        isinstance(node, ast.Continue | ast.Break | ast.Return | ast.Raise)
        for statement in statements
        for node in ast.walk(statement)
    )
