"""Response senders: who takes one answers with it, and says which response is the last."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, When, flow_of
from triton_ensembles.check.python.kinds import SENDER
from triton_ensembles.check.python.source import UTILS, PythonFile, all_files, argument, model_files
from triton_ensembles.check.python.types import types_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule

SOURCE = "python_backend r24.10 src/response_sender.cc; measured on 2.51.0"
_HEAD = f"class {CLASS}:\n    def execute(self, requests):\n        for request in requests:\n"
_SEND = """\
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            sender = request.get_response_sender()
            sender.send(pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)]))
"""
_FINAL = "            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)\n"
GOOD = script_model(f"{_HEAD}{_SEND}{_FINAL}")
# What may pass a sender on to a function of the file itself.
_PASSING = frozenset({"Thread", "Process", "submit", "put", "put_nowait", "append", "create_task"})


@rule("A model that takes response senders says which response is the last", bad=script_model(f"{_HEAD}{_SEND}"))
def model_py_sender_final(model: Model) -> Iterator[Finding]:
    for first in model_files(model):
        files = all_files(model, first)
        if any(file.module is None for file in files) or any(map(_may_end, files)):
            continue
        for file in files:
            for call in _senders(file):
                if flow_of(file).when(call, loops_run=True) is When.REQUEST:
                    yield Finding(
                        file.place(call),
                        "no response is ever marked as the last one of its request",
                        "the model loads, and no request ends: clients wait until their time is over",
                        "end with sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)",
                    )
                    break


def _senders(file: PythonFile) -> Iterator[ast.Call]:
    for call, name in file.calls():  # pb_utils itself has no such function
        if getattr(call.func, "attr", "") == "get_response_sender" and not name.startswith(UTILS):
            yield call


def _may_end(file: PythonFile) -> bool:
    """Whether anything here may send the last response, or give a sender to someone else who does."""
    if b"COMPLETE_FINAL" in file.data:
        return True
    flow, types = flow_of(file), types_of(file)
    sends = [call for call, _ in file.calls() if getattr(call.func, "attr", "") == "send"]
    if any(argument(call, 1, "flags") is not None or any(each.arg is None for each in call.keywords) for call in sends):
        return True
    for node in file.nodes:
        if isinstance(node, ast.Return) and flow.function(node) is flow.method("execute") and _has_value(node):
            return True  # it answers by what it returns
        if isinstance(node, ast.Name | ast.Call | ast.Attribute) and types.kind(node) and _escapes(file, node):
            return True
        if isinstance(node, ast.Attribute) and node.attr == "get_response_sender" and _is_hidden(file, node):
            return True
    return False


def _has_value(node: ast.Return) -> bool:
    return node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)


def _is_hidden(file: PythonFile, node: ast.Attribute) -> bool:
    """Whether the sender that is taken here goes somewhere that is not followed."""
    call = flow_of(file).parents.get(node)
    parent = flow_of(file).parents.get(call) if isinstance(call, ast.Call) else None
    plain = isinstance(parent, ast.Assign) and all(isinstance(each, ast.Name) for each in parent.targets)
    return not (plain or isinstance(parent, ast.Attribute | ast.Expr) or _passes(file, call, parent))


def _escapes(file: PythonFile, node: ast.expr) -> bool:
    """Whether a sender, or a request with one, is given to code that is not in this file."""
    found = types_of(file).kind(node)
    if found is None or found.name != SENDER or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    parent = flow_of(file).parents.get(node)
    if isinstance(parent, ast.Assign):
        return not all(isinstance(each, ast.Name) for each in parent.targets)
    return not (isinstance(parent, ast.Attribute | ast.Expr) or _passes(file, node, parent))


def _passes(file: PythonFile, node: ast.AST | None, parent: ast.AST | None) -> bool:
    """Whether it is an argument of a function of this file, or of a thread."""
    if isinstance(parent, ast.Tuple | ast.List | ast.keyword):
        parent = flow_of(file).parents.get(parent)
        parent = flow_of(file).parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(parent, ast.Call) or parent.func is node:
        return False
    last = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
    return flow_of(file).helper(parent) is not None or last in _PASSING


@rule(
    "A model that is not decoupled sends one response for each request",
    bad=script_model(f"{_HEAD}{_SEND}{_SEND.splitlines()[-1]}\n{_FINAL}"),
    severity=Severity.WARNING,
)
def model_py_sender_many(model: Model) -> Iterator[Finding]:
    if model.config.model_transaction_policy.decoupled or model.is_completed:
        return
    for first in model_files(model):
        for file in all_files(model, first):
            if b"transaction_policy" in file.data:
                continue
            flow = flow_of(file)
            sends = [call for call in _sends(file) if flow.when(call, loops_run=True) is When.REQUEST]
            certain = [call for call in sends if flow.when(call) is When.REQUEST]
            looped = [call for call in sends if call not in certain]
            many = looped[:1] or certain[1:2]
            if many and (looped or _same_sender(file, certain[:2])):
                yield Finding(
                    file.place(many[0]),
                    "this sends several responses for one request, and the model is not decoupled",
                    "the request fails: expected a single response, got 2",
                    "add model_transaction_policy { decoupled: true } to config.pbtxt, or send all at once",
                )


def _sends(file: PythonFile) -> Iterator[ast.Call]:
    """The calls that send a response, and not only a flag."""
    for node in file.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send":
            found = types_of(file).kind(node.func.value)
            given = argument(node, 0, "response")
            if found and found.name == SENDER and given is not None and not _is_none(given):
                yield node


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _same_sender(file: PythonFile, calls: list[ast.Call]) -> bool:
    """Whether they send by the same variable, one after the other."""
    holders = [call.func.value for call in calls if isinstance(call.func, ast.Attribute)]
    names = {each.id for each in holders if isinstance(each, ast.Name)}
    blocks = [flow_of(file).block_of(parent) for call in calls if (parent := flow_of(file).parents.get(call))]
    return len(names) == 1 and len(holders) == len(blocks) == 2 and None not in blocks and blocks[0][0] is blocks[1][0]  # type: ignore[index]
