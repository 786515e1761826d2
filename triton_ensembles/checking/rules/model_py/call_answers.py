"""Answers of the models that a model.py calls (BLS): when they are there, and what is read of them."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import ROUTER, router
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.model_calls import ModelCall, elements_of, known_calls, model_calls
from triton_ensembles.checking.python.nodes import argument, hides_arguments, method_of
from triton_ensembles.checking.python.source import UTILS
from triton_ensembles.checking.python.values import texts_of
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.ground.spelling import listed

SOURCE = "python_backend r24.10 src/pb_stub.cc and infer_request.cc; measured on 2.51.0"
_OF_RESPONSES = ("has_error", "output_tensors", "error")
_EARLY = """\
    def initialize(self, args):
        x = pb_utils.Tensor("X", np.zeros((1, 4), np.float32))
        call = pb_utils.InferenceRequest(model_name="scaler", requested_output_names=["Y"], inputs=[x])
        self.answer = call.exec()

"""
GOOD = router()


@rule(
    "A call's answer is read by the names of the outputs that were requested",
    bad=router('get_output_tensor_by_name(answer, "Y")', 'get_output_tensor_by_name(answer, "OUT")'),
)
def model_call_answer(model: Model) -> Iterator[Finding]:
    outputs = {call.node: {tensor.name for tensor in callee.config.output} for call, callee in known_calls(model)}
    for call in model_calls(model):
        known = {name for _, name in call.requested_outputs()}
        if known - outputs.get(call.node, known):  # model-call-output
            continue
        requested = elements_of(call.file, argument(call.node, 3, "requested_output_names"))
        if not known or requested is None or len(known) < len(requested):
            continue
        for node, function in call.file.calls():
            if function != f"{UTILS}.get_output_tensor_by_name" or not _is_answer(call, argument(node, 0, "")):
                continue
            for name in texts_of(call.file, argument(node, 1, "name")) or ():
                if name not in known:
                    message = f"the call whose answer this reads requests {listed(known)}, and not '{name}'"
                    effect = "get_output_tensor_by_name returns None: 'NoneType' object has no attribute 'as_numpy'"
                    cure = f"read one of them, or add '{name}' to requested_output_names"
                    yield Finding(call.file.place(node), message, effect, cure)


@rule(
    "A decoupled model is called with exec(decoupled=True)",
    bad=router(callee="stream", more="model_transaction_policy { decoupled: true }"),
)
def model_call_decoupled(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        if not callee.config.model_transaction_policy.decoupled:
            continue
        for execution in call.executions():
            if argument(execution, 0, "decoupled") is None and not hides_arguments(execution):
                message = f"the model '{callee.name}' is decoupled: it answers with any number of responses"
                effect = f"the call answers with an error: Model {callee.name} is using the decoupled"
                cure = f"{method_of(execution)}(decoupled=True) gives an iterator of the responses"
                yield Finding(call.file.place(execution), message, effect, cure)


@rule("async_exec is awaited, in an async execute", bad=router("call.exec()", "call.async_exec()"))
def model_call_awaited(model: Model) -> Iterator[Finding]:
    for call in model_calls(model):
        flow = flow_of(call.file)
        for execution in call.executions():
            if method_of(execution) != "async_exec":
                continue
            function = flow.function(execution)
            if isinstance(function, ast.FunctionDef) and function is flow.method("execute"):
                message = "async_exec needs a running event loop, and execute is not async"
                effect = "every request fails: RuntimeError: no running event loop"
                cure = "call exec(), or write: async def execute(self, requests), and: await call.async_exec()"
                yield Finding(call.file.place(execution), message, effect, cure)
            elif _is_read(call, execution):
                message = "the answer of async_exec is read before it is awaited"
                effect = "every request fails: '_asyncio.Future' object has no attribute 'has_error'"
                yield Finding(call.file.place(execution), message, effect, "write: await call.async_exec()")


@rule(
    "Models are called while a request is answered",
    bad=router(ROUTER, _EARLY + ROUTER),
    words="BLS is only supported during the 'execute' function",
)
def model_call_early(model: Model) -> Iterator[Finding]:
    for call in model_calls(model):
        flow = flow_of(call.file)
        for execution in call.executions():
            function = flow.function(execution)
            if function is not None and function is flow.method("initialize") and flow.when(execution).is_certain:
                message = "this calls a model in initialize"
                yield Finding(call.file.place(execution), message, cure="call it in execute, for the first request")


def _is_answer(call: ModelCall, node: ast.expr | None) -> bool:
    """Whether ``node`` is the response to the call."""
    value = call.value(node)
    value = value.value if isinstance(value, ast.Await) else value
    return any(value is execution for execution in call.executions())


def _is_read(call: ModelCall, execution: ast.Call) -> bool:
    """Whether the future is used as a response where nothing awaits it."""
    flow = flow_of(call.file)
    parent = flow.parents.get(execution)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Attribute) and parent.attr in _OF_RESPONSES
    names = flow.names(flow.function(execution), parent.targets[0].id)
    uses = [flow.parents.get(name) for name in names if name is not parent.targets[0]]
    is_awaited = any(isinstance(flow.parents.get(use), ast.Await) for use in uses if use is not None)
    is_plain = all(isinstance(use, ast.Attribute | ast.Call) for use in uses) and not is_awaited
    return is_plain and any(isinstance(use, ast.Attribute) and use.attr in _OF_RESPONSES for use in uses)
