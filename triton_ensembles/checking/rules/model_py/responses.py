"""The answers of execute: it returns a list of InferenceResponse."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from triton_ensembles.checking.python.bindings import appending, elements_of, value_of
from triton_ensembles.checking.python.examples import EXECUTE_LINE, LOOP, class_model
from triton_ensembles.checking.python.execute import executes, gives_away, gives_none
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import (
    Function,
    is_changed,
    is_none,
    is_over,
    may_end_before,
    name_of,
    own_nodes,
    requests_of,
)
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import PythonFile
from triton_ensembles.checking.rule import Destination, Finding, Model, rule, warning
from triton_ensembles.checking.sagemaker import for_sagemaker

SOURCE = "python_backend r24.10 src/pb_stub.cc ProcessReturnedResponses; measured on 2.51.0"
GOOD = class_model()
_NO_LISTS = ("tuple", "dict", "set", "map", "filter", "zip", "iter")


class Returned(NamedTuple):
    """A value that execute certainly returns, in words, and Triton's complaint, "" where it may have none."""

    words: str
    complaint: str = "Expected a list in the execute return"


_UNANSWERED = "nobody answers it, and clients wait until their time is over"
_NUMBERS = "Number of InferenceResponse objects do not match the number of InferenceRequest objects"
_LIST = Returned("a list", "")
_EMPTY_LIST = Returned("an empty list", _NUMBERS)


@rule(
    "execute returns something, or sends responses",
    bad=class_model(f"{EXECUTE_LINE}        responses = []\n{LOOP}            responses.append(response)\n"),
)
def model_py_returns_nothing(model: Model) -> Iterator[Finding]:
    decoupled = model.config.model_transaction_policy.decoupled
    for file, execute in executes(model):
        nodes = own_nodes(execute)
        if any(isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom) for node in nodes):
            continue
        returns = [node for node in nodes if isinstance(node, ast.Return)]
        first = next((node for node in execute.body if isinstance(node, ast.Return)), None)
        # After a return without a value at the outer level, nothing ever runs.
        ends_first = first is not None and _is_bare(first) and returns[0] is first
        if not ends_first and any(not _is_bare(node) and not _is_of_none(file, node.value) for node in returns):
            continue
        if gives_away(file, execute):
            continue
        place = file.place(returns[0] if returns else execute)
        effect = "the model loads, and no request is ever answered: clients wait until their time is over"
        if decoupled:
            message = "nothing ever sends a response, and the model is decoupled"
            yield Finding(place, message, effect, "send the responses with request.get_response_sender()")
        else:
            cure = "end it with return responses, a list with one InferenceResponse for each request"
            yield Finding(place, "execute returns nothing", effect, cure)


@rule(
    "execute returns a list of InferenceResponse, or nothing when the model is decoupled",
    bad=class_model(f"{EXECUTE_LINE}{LOOP}        return response\n"),
)
def model_py_returns_no_list(model: Model, destination: Destination) -> Iterator[Finding]:
    decoupled = model.config.model_transaction_policy.decoupled
    if decoupled and for_sagemaker(model.repository, destination):
        return  # sagemaker-decoupled: the policy itself is the fault
    for file, execute in executes(model):
        for node in own_nodes(execute):
            returned = _returned_by(file, execute, node)
            if returned is None or not (returned.complaint or decoupled):
                continue
            if returned is _EMPTY_LIST and may_end_before(execute, node):
                continue  # it may be for no requests at all
            if returned.complaint == _UNANSWERED and (decoupled or gives_away(file, execute)):
                continue
            message, complaint = f"execute returns {returned.words}", returned.complaint
            cure = "return a list with one InferenceResponse for each request"
            if decoupled:
                message += ", and the model is decoupled"
                complaint = "the execute function must return None"
                cure = "send the responses with request.get_response_sender(), and return nothing"
            yield Finding(file.place(node), message, f"{When.REQUEST.effect}: {complaint}", cure)
            break


@warning(
    "execute returns after the loop over its requests, not in it",
    bad=class_model(f"{EXECUTE_LINE}{LOOP}            return [response]\n"),
)
def model_py_returns_in_loop(model: Model) -> Iterator[Finding]:
    for file, execute in executes(model) if not model.config.model_transaction_policy.decoupled else ():
        loops = (node for node in own_nodes(execute) if isinstance(node, ast.For))
        for loop in (loop for loop in loops if is_over(loop.iter, requests_of(execute))):
            for node in loop.body:
                if isinstance(node, ast.Return) and node.value is not None:
                    effect = f"of several requests at once, which dynamic batching makes, all fail: {_NUMBERS}"
                    cure = "collect the responses in a list, and return it after the loop"
                    yield Finding(file.place(node), "execute returns at its first request", effect, cure)


def _is_bare(node: ast.Return) -> bool:
    return node.value is None or is_none(node.value)


def _is_of_none(file: PythonFile, node: ast.expr | None) -> bool:
    """Return whether the call is of a helper that returns nothing."""
    helper = flow_of(file).helper(node) if isinstance(node, ast.Call) else None
    return helper is not None and isinstance(helper.node, ast.FunctionDef) and gives_none(helper.node)


def _returned_by(file: PythonFile, execute: Function, node: ast.AST) -> Returned | None:
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return Returned("a generator, because it has yield")
    if isinstance(node, ast.Return) and node.value is not None and flow_of(file).when(node) is When.REQUEST:
        return _returned(file, execute, node.value)
    return None


def _returned(file: PythonFile, execute: Function, node: ast.expr) -> Returned | None:
    """Return the form of an expression, None when it is not known."""
    flow = flow_of(file)
    value = value_of(flow.scopes, node)
    if isinstance(value, ast.List | ast.ListComp):
        uses = flow.scopes.names(execute, node.id) if isinstance(node, ast.Name) else []
        others = [use for use in uses if not (is_changed(use) or appending(flow.scopes, use) or use is node)]
        elements = None if others else elements_of(flow.scopes, node)
        if elements is None:
            return _LIST  # filled in some other way
        wrong = [_wrong(file, element) for element in elements]
        return (wrong[0] if all(wrong) else _LIST) if wrong else _EMPTY_LIST
    if isinstance(value, ast.Constant):
        return None if is_none(value) else Returned("a constant")
    if isinstance(value, ast.Call):
        name = file.full_name(value.func)
        if _is_of_none(file, value):
            words = f"None, which is all that {name_of(value.func)} returns: None in place of a response"
            return Returned(words, _UNANSWERED)
        if name in _NO_LISTS and file.scopes.is_builtin(value.func):
            return Returned(f"what {name}() makes")
    kind = kind_of(file, value)
    return _LIST if kind is Kind.LIST else Returned(kind) if kind else None


def _wrong(file: PythonFile, element: ast.expr) -> Returned | None:
    """Return the form of a list with this element; None where it may be a response."""
    if is_none(element) or _is_of_none(file, element):
        return Returned("a list with None in place of a response", _UNANSWERED)
    kind = kind_of(file, element)
    if kind in (None, Kind.RESPONSE):
        return None
    complaint = "Expected an 'InferenceResponse' object in the execute function return list"
    return Returned(f"a list with {kind} in place of a response", complaint)
