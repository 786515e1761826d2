"""Response senders: who takes one answers with it, and says which response is the last."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE_LINE, class_model
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.kinds import Kind
from triton_ensembles.checking.python.nodes import argument, is_changed, is_none, method_of, name_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, all_files, every_file, model_files
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.rule import Finding, Model, rule, warning

SOURCE = "python_backend r24.10 src/response_sender.cc; measured on 2.51.0"
_HEAD = f"{EXECUTE_LINE}        for request in requests:\n"
_SEND = """\
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            sender = request.get_response_sender()
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
"""
_FINAL = "            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)\n"
GOOD = class_model(f"{_HEAD}{_SEND}{_FINAL}")
# Functions that may pass a sender on to a function of the file itself.
_PASSING = frozenset({"Thread", "Process", "submit", "put", "put_nowait", "append", "create_task"})


@rule("A model that takes response senders says which response is the last", bad=class_model(f"{_HEAD}{_SEND}"))
def model_py_sender_final(model: Model) -> Iterator[Finding]:
    for first in model_files(model):
        files = all_files(model, first)
        if any(file.module is None for file in files) or any(map(_may_end, files)):
            continue
        for file in files:
            for call, name in file.calls():
                is_taking = method_of(call) == "get_response_sender" and not name.startswith(UTILS)
                if is_taking and flow_of(file).when(call, loops_run=True) is When.REQUEST:
                    message = "no response is ever marked as the last one of its request"
                    effect = "the model loads, and no request ends: clients wait until their time is over"
                    cure = "end with sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"
                    yield Finding(file.place(call), message, effect, cure)
                    break


def _may_end(file: PythonFile) -> bool:
    """Whether anything here may send the last response, or give a sender to someone else who does."""
    if b"COMPLETE_FINAL" in file.data:
        return True
    flow, types = flow_of(file), types_of(file)
    sends = [call for call, _ in file.calls() if method_of(call) == "send"]
    if any(argument(call, 1, "flags") or any(keyword.arg is None for keyword in call.keywords) for call in sends):
        return True
    for node in file.nodes:
        if isinstance(node, ast.Return) and flow.function(node) is flow.method("execute"):
            if node.value is not None and not is_none(node.value):
                return True  # it answers by what it returns
        elif isinstance(node, ast.Attribute) and node.attr == "get_response_sender":
            call = flow.parents.get(node)
            if not isinstance(call, ast.Call) or not _is_followed(file, call):
                return True
        elif isinstance(node, ast.Name | ast.Call | ast.Attribute) and not is_changed(node):
            is_sender = types.kind(node) is Kind.SENDER
            if is_sender and not _is_followed(file, node):
                return True
    return False


def _is_followed(file: PythonFile, sender: ast.AST) -> bool:
    """Whether a sender is bound to names, used at once, or given to a function of this file, or to a thread."""
    flow = flow_of(file)
    parent = flow.parents.get(sender)
    if isinstance(parent, ast.Assign):
        return all(isinstance(target, ast.Name) for target in parent.targets)
    if isinstance(parent, ast.Attribute | ast.Expr):
        return True
    if isinstance(parent, ast.Tuple | ast.List | ast.keyword):
        parent = flow.parents.get(parent)
        parent = flow.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(parent, ast.Call) or parent.func is sender:
        return False
    return flow.helper(parent) is not None or name_of(parent.func) in _PASSING


@warning(
    "A model that is not decoupled sends one response for each request",
    bad=class_model(f"{_HEAD}{_SEND}{_SEND.splitlines()[-1]}\n{_FINAL}"),
)
def model_py_sender_many(model: Model) -> Iterator[Finding]:
    if model.config.model_transaction_policy.decoupled or model.is_completed:
        return
    for file in every_file(model):
        flow = flow_of(file)
        sends = [call for call in _sends(file) if flow.when(call, loops_run=True) is When.REQUEST]
        certain = [call for call in sends if flow.when(call) is When.REQUEST]
        looped = [call for call in sends if call not in certain]
        many = looped[:1] or certain[1:2]
        if many and (looped or _same_sender(file, certain[:2])) and b"transaction_policy" not in file.data:
            message = "this sends several responses for one request, and the model is not decoupled"
            effect = "the request fails: expected a single response, got 2"
            cure = "add model_transaction_policy { decoupled: true } to config.pbtxt, or send all at once"
            yield Finding(file.place(many[0]), message, effect, cure)


def _sends(file: PythonFile) -> Iterator[ast.Call]:
    """The calls that send a response, and not only a flag."""
    for node in file.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send":
            response = argument(node, 0, "response")
            if response and not is_none(response) and types_of(file).kind(node.func.value) is Kind.SENDER:
                yield node


def _same_sender(file: PythonFile, calls: list[ast.Call]) -> bool:
    flow = flow_of(file)
    senders = [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
    names = {sender.id for sender in senders if isinstance(sender, ast.Name)}
    places = [flow.block_of(flow.parents[call]) for call in calls]
    blocks = {id(place[0]) for place in places if place}
    return len(senders) == 2 and len(names) == 1 and None not in places and len(blocks) == 1
