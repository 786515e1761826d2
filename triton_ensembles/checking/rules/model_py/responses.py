"""The answers of execute: it returns a list of InferenceResponse."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from triton_ensembles.checking.python.definitions import definition_of
from triton_ensembles.checking.python.examples import EXECUTE, EXECUTE_LINE, LOOP, class_model
from triton_ensembles.checking.python.execute import executes, gives_away, gives_none
from triton_ensembles.checking.python.flow import When, flow_of, may_end_before
from triton_ensembles.checking.python.nodes import Function, dotted, is_changed, is_name, is_none, name_of, own_nodes
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import PythonFile, model_files
from triton_ensembles.checking.rule import Destination, Finding, Model, rule
from triton_ensembles.checking.sagemaker import for_sagemaker

SOURCE = "python_backend r24.10 src/pb_stub.cc ProcessReturnedResponses; measured on 2.51.0"
GOOD = class_model()
_QUIET = """def quiet(method):
    def call(*arguments):
        RETURN method(*arguments)

    return call


"""
_LARGEST = 1 << 63  # Python refuses to print numbers of thousands of digits
_DEEPEST = 3  # names that lead to names
_NO_LISTS = ("tuple", "dict", "set", "map", "filter", "zip", "iter")


class Returned(NamedTuple):
    """What execute certainly returns, in the words of a sentence, and what Triton says about it."""

    words: str
    complaint: str = "Expected a list in the execute return"
    is_none: bool = False  # what a helper returns


_UNANSWERED = "nobody answers it, and clients wait until their time is over"
_LIST = Returned("a list", "")  # which may have responses
_EMPTY_LIST = Returned(
    "an empty list", "Number of InferenceResponse objects do not match the number of InferenceRequest objects"
)
_LIST_OF_NONE = Returned("a list with None in place of a response", _UNANSWERED)


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
            if returned is None or (returned.is_none if decoupled else returned is _LIST):
                continue
            if returned is _EMPTY_LIST and may_end_before(execute, node):
                continue  # it may be for no requests at all
            if decoupled:
                message = f"execute returns {returned.words}, and the model is decoupled"
                complaint = "the execute function must return None"
                cure = "send the responses with request.get_response_sender(), and return nothing"
            else:
                if returned.complaint == _UNANSWERED and gives_away(file, execute):
                    continue
                message = f"execute returns {returned.words}"
                complaint = returned.complaint
                cure = "return a list with one InferenceResponse for each request"
            yield Finding(file.place(node), message, f"{When.REQUEST.effect}: {complaint}", cure)
            break


@rule(
    "A decorator of execute returns what execute returns",
    bad=class_model(EXECUTE.replace("    def", "    @quiet\n    def"), _QUIET.replace("RETURN ", "")),
    good=class_model(EXECUTE.replace("    def", "    @quiet\n    def"), _QUIET.replace("RETURN ", "return ")),
)
def model_py_decorator_drops(model: Model) -> Iterator[Finding]:
    for file in model_files(model) if not model.config.model_transaction_policy.decoupled else ():
        home, execute = flow_of(file).defining("execute") or (file, None)
        if not isinstance(execute, Function):
            continue
        for decorator in execute.decorator_list:
            known = definition_of(home, dotted(decorator))
            if known and isinstance(known.node, ast.FunctionDef) and gives_none(known.node):
                message = f"the decorator {dotted(decorator)} returns nothing, so that execute is None"
                yield Finding(home.place(decorator), message, When.REQUEST.effect, "return the wrapped function there")
                continue
            inner = [node for node in known.node.body if isinstance(node, Function)] if known else []
            is_wrapper = known and isinstance(known.node, Function) and isinstance(known.node.body[-1], ast.Return)
            if not is_wrapper or len(inner) != 1 or not isinstance(inner[0], ast.FunctionDef):
                continue
            is_returned = known and is_name(getattr(known.node.body[-1], "value", None), inner[0].name)
            is_plain = all(name_of(getattr(part, "func", part)) == "wraps" for part in inner[0].decorator_list)
            if is_returned and is_plain and gives_none(inner[0]) and not gives_away(home, execute):
                message = (
                    f"{inner[0].name} of the decorator {dotted(decorator)} returns nothing, so neither does execute"
                )
                effect = "the model loads, and no request is ever answered: clients wait until their time is over"
                yield Finding(home.place(decorator), message, effect, "return there what the wrapped function returns")


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


def _returned(file: PythonFile, execute: Function, value: ast.expr, depth: int = 0) -> Returned | None:
    """Return the form of an expression, None when it is not known. Of a list, what is wrong with it comes first."""
    if isinstance(value, ast.Name):
        return _returned_name(file, execute, value, depth)
    if isinstance(value, ast.List):
        lists = (_list_with(file, element) for element in value.elts)
        return next((known for known in lists if known is not _LIST), _LIST) if value.elts else _EMPTY_LIST
    if isinstance(value, ast.ListComp):
        return _list_with(file, value.elt)
    if isinstance(value, ast.Constant):
        is_long = isinstance(value.value, int) and abs(value.value) >= _LARGEST
        words = f"a constant, {'a number' if is_long else repr(value.value)[:40]}"
        return None if value.value is None else Returned(words)
    if isinstance(value, ast.Call):
        name = file.full_name(value.func)
        if _is_of_none(file, value):
            words = f"None, which is all that {name_of(value.func)} returns: None in place of a response"
            return Returned(words, _UNANSWERED, is_none=True)
        if name in _NO_LISTS and flow_of(file).is_builtin(value.func):
            return Returned(f"what {name}() makes")
        if name == "list" and not value.args:
            return _EMPTY_LIST
    kind = kind_of(file, value)
    return None if kind is None else _LIST if kind is Kind.LIST else Returned(kind)


def _returned_name(file: PythonFile, execute: Function, name: ast.Name, depth: int) -> Returned | None:
    flow = flow_of(file)
    uses = flow.names(execute, name.id)
    stores = [use for use in uses if is_changed(use)]
    assignment = flow.parents.get(stores[0]) if len(stores) == 1 else None
    if not isinstance(assignment, ast.Assign) or assignment.targets != stores or depth == _DEEPEST:
        return None
    returned = _returned(file, execute, assignment.value, depth + 1)
    if len(uses) == 2 or not isinstance(assignment.value, ast.List | ast.ListComp):
        return returned
    # An empty list is filled by whatever else happens to it, and the elements of another are replaced.
    return _filled(file, uses) if returned is _EMPTY_LIST else _LIST


def _filled(file: PythonFile, uses: list[ast.Name]) -> Returned:
    """Return the form of a list that begins empty, by all that is appended to it."""
    flow = flow_of(file)
    inner = [use for use in uses if not is_changed(use) and not isinstance(flow.parents.get(use), ast.Return)]
    calls = [flow.appending(use) for use in inner]
    lists = [_list_with(file, call.args[0]) if call else _LIST for call in calls]
    return lists[0] if lists and _LIST not in lists else _LIST


def _list_with(file: PythonFile, element: ast.expr) -> Returned:
    """Return the form of a list with this element, which may be a response."""
    if is_none(element) or _is_of_none(file, element):
        return _LIST_OF_NONE
    kind = kind_of(file, element)
    if kind in (None, Kind.RESPONSE):
        return _LIST
    complaint = "Expected an 'InferenceResponse' object in the execute function return list"
    return Returned(f"a list with {kind} in place of a response", complaint)
