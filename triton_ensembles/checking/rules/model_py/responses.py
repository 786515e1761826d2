"""The answers of execute: it returns a list of InferenceResponse."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from triton_ensembles.checking.python.bindings import appending, elements_of
from triton_ensembles.checking.python.definitions import Definition, model_class_of
from triton_ensembles.checking.python.examples import EXECUTE_LINE, LOOP, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import Function, is_changed, is_over, may_end_before, own_nodes, requests_of
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, model_files
from triton_ensembles.checking.rule import Destination, Finding, Model, rule, warning
from triton_ensembles.checking.sagemaker import for_sagemaker

SOURCE = "python_backend r24.10 src/pb_stub.cc ProcessReturnedResponses; measured on 2.51.0"
GOOD = class_model()
_ANSWERING = ("get_response_sender", "set_release_flags")
# What a request may be given to without being answered there.
_HARMLESS = frozenset(
    {"len", "enumerate", "zip", "range", "list", "tuple", "reversed", "print", "str", "repr", "isinstance", "id", "map"}
)


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
    for file, execute in _executes(model):
        if not _returns_nothing(file, execute) or _gives_away(file, execute):
            continue
        returns = (node for node in own_nodes(execute) if isinstance(node, ast.Return))
        place = file.place(next(returns, execute))
        effect = "the model loads, and no request is ever answered: clients wait until their time is over"
        if decoupled:
            message = "nothing ever sends a response, and the model is decoupled"
            yield Finding(place, message, effect, "send the responses with request.get_response_sender()")
        else:
            cure = "end it with return responses, a list with one InferenceResponse for each request"
            yield Finding(place, "execute returns nothing", effect, cure)


def _returns_nothing(file: PythonFile, execute: Function) -> bool:
    nodes = own_nodes(execute)
    returns = [node for node in nodes if isinstance(node, ast.Return)]
    giving = [node for node in returns if node.value and kind_of(file, node.value) is not Kind.NONE]
    first = next((node for node in execute.body if isinstance(node, ast.Return)), None)
    # After a return without a value at the outer level, nothing ever runs.
    ends_first = first is not None and first not in giving and returns[0] is first
    may_end_otherwise = any(isinstance(node, ast.Raise | ast.Yield | ast.YieldFrom) for node in nodes)
    return not may_end_otherwise and (ends_first or not giving)


@rule(
    "execute returns a list of InferenceResponse, or nothing when the model is decoupled",
    bad=class_model(f"{EXECUTE_LINE}{LOOP}        return response\n"),
)
def model_py_returns_no_list(model: Model, destination: Destination) -> Iterator[Finding]:
    decoupled = model.config.model_transaction_policy.decoupled
    if decoupled and for_sagemaker(model.repository, destination):
        return  # sagemaker-decoupled: the policy itself is the fault
    for file, execute in _executes(model):
        for node in own_nodes(execute):
            returned = _returned_by(file, execute, node)
            if returned is None or not (returned.complaint or decoupled):
                continue
            if returned is _EMPTY_LIST and may_end_before(execute, node):
                continue  # it may be for no requests at all
            if returned.complaint == _UNANSWERED and (decoupled or _gives_away(file, execute)):
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
    for file, execute in _executes(model) if not model.config.model_transaction_policy.decoupled else ():
        loops = (node for node in own_nodes(execute) if isinstance(node, ast.For))
        for loop in (loop for loop in loops if is_over(loop.iter, requests_of(execute))):
            for node in loop.body:
                if isinstance(node, ast.Return) and node.value is not None:
                    effect = f"of several requests at once, which dynamic batching makes, all fail: {_NUMBERS}"
                    cure = "collect the responses in a list, and return it after the loop"
                    yield Finding(file.place(node), "execute returns at its first request", effect, cure)


def _returned_by(file: PythonFile, execute: Function, node: ast.AST) -> Returned | None:
    """Return what a line of execute certainly returns, None when it is not known, or nothing."""
    if isinstance(node, ast.Yield | ast.YieldFrom):
        return Returned("a generator, because it has yield")
    if not isinstance(node, ast.Return) or not node.value or flow_of(file).when(node) is not When.REQUEST:
        return None
    kind = kind_of(file, node.value)
    if kind is not Kind.LIST:
        return Returned(kind) if kind not in (None, Kind.NONE) else None
    elements = _elements(file, execute, node.value)
    wrong = [_wrong(file, element) for element in elements or ()]
    first = wrong[0] if wrong and all(wrong) else None
    return _EMPTY_LIST if elements == [] else first or _LIST


def _elements(file: PythonFile, execute: Function, node: ast.expr) -> list[ast.expr] | None:
    """Return the elements of a list, None where it may be filled in some other way than by append."""
    uses = file.scopes.names(execute, node.id) if isinstance(node, ast.Name) else []
    others = [use for use in uses if not (is_changed(use) or appending(file.scopes, use) or use is node)]
    return None if others else elements_of(file.scopes, node)


def _wrong(file: PythonFile, element: ast.expr) -> Returned | None:
    """Return the form of a list with this element; None where it may be a response."""
    kind = kind_of(file, element)
    if kind in (None, Kind.RESPONSE):
        return None
    complaint = "Expected an 'InferenceResponse' object in the execute function return list"
    return Returned(f"a list with {kind} in place of a response", _UNANSWERED if kind is Kind.NONE else complaint)


def _executes(model: Model) -> Iterator[Definition[Function]]:
    """Yield the method execute of each version, if nothing wraps or replaces it."""
    for file in model_files(model):
        model_class = model_class_of(file)
        execute = model_class.method("execute")
        if execute and model_class.is_plain and not execute.node.decorator_list and requests_of(execute.node):
            yield execute


def _gives_away(file: PythonFile, execute: Function) -> bool:
    """Return whether the requests may be answered elsewhere: by their response senders, or by whoever gets them that is
    none of the model's own functions."""
    if any(part.module is None or any(map(flow_of(part).is_used, _ANSWERING)) for part in file.together):
        return True
    names = {requests_of(execute)}
    for node in own_nodes(execute):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and is_over(node.iter, requests_of(execute)):
            names |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    calls = (node for node in own_nodes(execute) if isinstance(node, ast.Call))
    return any(_gets_one_of(call, names) and not _is_harmless(file, call) for call in calls)


def _gets_one_of(call: ast.Call, names: set[str]) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    given = (value.value if isinstance(value, ast.Starred) else value for value in values)
    return any(isinstance(value, ast.Name) and value.id in names for value in given)


def _is_harmless(file: PythonFile, call: ast.Call) -> bool:
    """Return whether what a call gets is not answered there; the model's own functions have no response senders."""
    name = file.full_name(call.func)
    return name in _HARMLESS or name.startswith(f"{UTILS}.") or flow_of(file).helper(call) is not None
