"""Requests of a model.py to other models of its repository (BLS), compared with what those models take and give."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from triton_ensembles.checking.completed import completed
from triton_ensembles.checking.examples import python_model, script_for
from triton_ensembles.checking.python.bindings import value_of
from triton_ensembles.checking.python.examples import class_model
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.model_calls import ModelCall, callees, model_calls
from triton_ensembles.checking.python.nodes import argument, hides_arguments, method_of
from triton_ensembles.checking.python.source import UTILS, PythonFile
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.python.values import texts_of
from triton_ensembles.checking.rule import Example, Finding, Model, Severity, rule
from triton_ensembles.checking.tensors import type_name
from triton_ensembles.ground.spelling import listed, nearest

SOURCE = "python_backend r24.10 request_executor.cc, core r24.10 infer_request.cc; measured on 2.51.0"
_LOADS = "the model loads, and the call answers with an error: "
_BODY = """\
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            call = pb_utils.InferenceRequest(
                model_name="scaler", requested_output_names=["Y"], inputs=[pb_utils.Tensor("X", x)]
            )
            answer = call.exec()
            if answer.has_error():
                responses.append(pb_utils.InferenceResponse(error=answer.error()))
                continue
            y = pb_utils.get_output_tensor_by_name(answer, "Y").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("Y", y)]))
        return responses
"""
_EARLY = """\
    def initialize(self, args):
        x = pb_utils.Tensor("X", np.zeros((1, 4), np.float32))
        call = pb_utils.InferenceRequest(model_name="scaler", requested_output_names=["Y"], inputs=[x])
        self.answer = call.exec()

"""


def _example(changed: str = "", to: str = "", callee: str = "scaler", more: str = "", folder: str = "") -> Example:
    """A router that calls a model, in which one text is changed; ``more`` is in the config of that model."""
    body = _BODY.replace(changed, to, 1) if changed else _BODY
    router = class_model(body.replace("scaler", callee), "import numpy as np\n\n\n" if "np." in to else "")
    config = python_model(more)
    beside = {f"{callee}/config.pbtxt": f'name: "{callee}"\n{config}', f"{callee}/1/model.py": script_for(config)}
    return Example(router.config, router.files, beside, folder)


GOOD = _example()


class _Call(NamedTuple):
    """A call whose model is known."""

    call: ModelCall
    callee: Model

    @property
    def file(self) -> PythonFile:
        return self.call.file


def _calls(model: Model) -> Iterator[_Call]:
    for call in model_calls(model):
        for name in call.names or ():
            callee = model.repository.model(name)
            if callee and callee.has_config and not completed(callee).is_completed:
                yield _Call(call, completed(callee))


def _tensors(call: ModelCall) -> list[tuple[ast.expr, str, str]] | None:
    """The node, the name and the data type ("" if unknown) of each input of a call; None if they are not all known."""
    inputs = argument(call.node, 2, "inputs")
    inputs = value_of(flow_of(call.file), inputs) if inputs is not None else None
    if not isinstance(inputs, ast.List) or hides_arguments(call.node):
        return None
    tensors = []
    for element in inputs.elts:
        value = value_of(flow_of(call.file), element)
        if not isinstance(value, ast.Call):
            return None
        function, names = call.file.full_name(value.func), None
        if function == f"{UTILS}.Tensor":
            names = texts_of(call.file, argument(value, 0, "name"))
        elif function == f"{UTILS}.get_input_tensor_by_name":
            names = texts_of(call.file, argument(value, 1, "name"))
        if names is None or len(names) != 1:
            return None
        array = types_of(call.file).type_of(argument(value, 1, "numpy_array")) if function.endswith("Tensor") else None
        tensors.append((value, names[0], array.dtype if array else ""))
    return tensors


def _outputs(call: ModelCall) -> list[tuple[ast.expr, str]]:
    requested = argument(call.node, 3, "requested_output_names")
    requested = value_of(flow_of(call.file), requested) if requested is not None else None
    elements = requested.elts if isinstance(requested, ast.List | ast.Tuple) else []
    return [(element, names[0]) for element in elements if (names := texts_of(call.file, element)) and len(names) == 1]


def _meant(name: str, known: set[str]) -> str:
    meant = nearest(name, known)
    return f"did you mean '{meant}'?" if meant else f"it has {listed(known)}"


@rule("A model.py calls models that are in the repository", bad=_example("scaler", "scalar"), lower=Severity.WARNING)
def model_call_unknown(model: Model) -> Iterator[Finding]:
    """A warning where the name is like none here: another repository of the server may have the model. Of an archive
    sagemaker-bls says more."""
    if model.repository.is_archive or model.repository.builds:
        return
    names = {other.name for other in model.repository.models}
    for call in model_calls(model):
        for name in call.names or ():
            if name and model.repository.model(name) is None:
                meant = nearest(name, names - {model.name})
                message = f"this calls the model '{name}', which is not in the repository"
                cure = f"did you mean '{meant}'?" if meant else "put the model into the repository"
                effect = f"{_LOADS}Model '{name}' is not ready"
                severity = None if meant else Severity.WARNING
                yield Finding(call.file.place(call.node), message, effect, cure, severity)


@rule("A model.py does not call itself", bad=_example('model_name="scaler"', 'model_name="router"', folder="router"))
def model_call_circle(model: Model) -> Iterator[Finding]:
    for call in model_calls(model):
        for name in call.names or ():
            callee = model.repository.model(name)
            way = _way(callee, model, ()) if callee else None
            if way is not None:
                names = " calls ".join(f"'{step}'" for step in (model.name, *way))
                message = f"this calls the model itself: {names}" if len(way) > 1 else "this calls the model itself"
                effect = "every instance waits for another one: the request never ends, and then no other"
                yield Finding(call.file.place(call.node), message, effect, "call a model that does not call this one")


def _way(model: Model, end: Model, before: tuple[str, ...]) -> tuple[str, ...] | None:
    """The names of the models from ``model`` to ``end``, over calls with known names."""
    way = (*before, model.name)
    if model.folder == end.folder:
        return way
    if model.name in before or any(call.names is None for call in model_calls(model)):
        return None
    return next((found for callee in callees(model) if (found := _way(callee, end, way))), None)


@rule(
    "A call gives the model that it calls its inputs",
    bad=_example('pb_utils.Tensor("X", x)', 'pb_utils.Tensor("x", x)'),
)
def model_call_input(model: Model) -> Iterator[Finding]:
    for file, call, callee in ((item.file, item.call, item.callee) for item in _calls(model)):
        tensors = _tensors(call)
        known = {tensor.name for tensor in callee.config.input}
        if tensors is None or callee.config.HasField("sequence_batching"):
            continue
        for node, name, _ in tensors:
            if name not in known:
                message = f"the model '{callee.name}' has no input '{name}'"
                effect = f"{_LOADS}unexpected inference input '{name}' for model '{callee.name}'"
                yield Finding(file.place(node), message, effect, _meant(name, known))
        names = {name for _, name, _ in tensors}
        missing = [tensor.name for tensor in callee.config.input if not tensor.optional and tensor.name not in names]
        if missing and names <= known:
            message = f"this call lacks the input {listed(missing)} of the model '{callee.name}'"
            effect = f"{_LOADS}expected {len(known)} inputs but got {len(names)} inputs"
            yield Finding(file.place(call.node), message, effect, f"add {listed(missing)} to inputs")


@rule(
    "A call gives the model that it calls inputs of its data types",
    bad=_example('pb_utils.Tensor("X", x)', 'pb_utils.Tensor("X", x.astype("float64"))'),
)
def model_call_type(model: Model) -> Iterator[Finding]:
    for file, call, callee in ((item.file, item.call, item.callee) for item in _calls(model)):
        types = {tensor.name: type_name(tensor.data_type).replace("STRING", "BYTES") for tensor in callee.config.input}
        for node, name, dtype in _tensors(call) or ():
            expected = types.get(name, "")
            if dtype and expected and dtype != expected and dtype.isupper():
                message = f"the model '{callee.name}' takes its input '{name}' as {expected}, and this is {dtype}"
                effect = f"{_LOADS}inference input '{name}' data-type is '{dtype}', but model expects '{expected}'"
                yield Finding(file.place(node), message, effect, "convert the array: .astype(…)")


@rule(
    "A call requests outputs that the model that it calls has",
    bad=_example('requested_output_names=["Y"]', 'requested_output_names=["y"]'),
)
def model_call_output(model: Model) -> Iterator[Finding]:
    for file, call, callee in ((item.file, item.call, item.callee) for item in _calls(model)):
        known = {tensor.name for tensor in callee.config.output}
        for node, name in _outputs(call):
            if name not in known:
                message = f"the model '{callee.name}' has no output '{name}'"
                effect = f"{_LOADS}unexpected inference output '{name}' for model '{callee.name}'"
                yield Finding(file.place(node), message, effect, _meant(name, known))


@rule(
    "A call's answer is read by the names of the outputs that were requested",
    bad=_example('get_output_tensor_by_name(answer, "Y")', 'get_output_tensor_by_name(answer, "OUT")'),
)
def model_call_answer(model: Model) -> Iterator[Finding]:
    for call in model_calls(model):
        known = {name for _, name in _outputs(call)}
        requested = argument(call.node, 3, "requested_output_names")
        requested = value_of(flow_of(call.file), requested) if requested is not None else None
        if not known or not isinstance(requested, ast.List | ast.Tuple) or len(known) < len(requested.elts):
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
    "A call names a version that the model that it calls has",
    bad=_example('model_name="scaler"', 'model_name="scaler", model_version=7'),
)
def model_call_version(model: Model) -> Iterator[Finding]:
    for file, call, callee in ((item.file, item.call, item.callee) for item in _calls(model)):
        version = argument(call.node, 5, "model_version")
        if not isinstance(version, ast.Constant) or not isinstance(version.value, int) or callee.is_version_made:
            continue
        if version.value not in (-1, *callee.served_versions):
            message = f"the model '{callee.name}' serves no version {version.value}"
            effect = f"{_LOADS}Model '{callee.name}' is not ready"
            served = ", ".join(map(str, callee.served_versions)) or "none"
            yield Finding(
                file.place(version), message, effect, f"it serves {served}; leave model_version out for the latest"
            )


@rule(
    "A decoupled model is called with exec(decoupled=True)",
    bad=_example(callee="stream", more="model_transaction_policy { decoupled: true }"),
)
def model_call_decoupled(model: Model) -> Iterator[Finding]:
    for file, call, callee in ((item.file, item.call, item.callee) for item in _calls(model)):
        if not callee.config.model_transaction_policy.decoupled:
            continue
        for execution in executions(call):
            if argument(execution, 0, "decoupled") is None and not hides_arguments(execution):
                message = f"the model '{callee.name}' is decoupled: it answers with any number of responses"
                effect = f"{_LOADS}Model {callee.name} is using the decoupled"
                cure = f"{method_of(execution)}(decoupled=True) gives an iterator of the responses"
                yield Finding(file.place(execution), message, effect, cure)


@rule("async_exec is awaited, in an async execute", bad=_example("call.exec()", "call.async_exec()"))
def model_call_awaited(model: Model) -> Iterator[Finding]:
    for call in model_calls(model):
        flow = flow_of(call.file)
        for execution in executions(call):
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
    bad=_example(_BODY, _EARLY + _BODY),
    words="BLS is only supported during the 'execute' function",
)
def model_call_early(model: Model) -> Iterator[Finding]:
    for call in model_calls(model):
        flow = flow_of(call.file)
        for execution in executions(call):
            function = flow.function(execution)
            if function is not None and function is flow.method("initialize") and flow.when(execution).is_certain:
                message = "this calls a model in initialize"
                yield Finding(call.file.place(execution), message, cure="call it in execute, for the first request")


def executions(call: ModelCall) -> Iterator[ast.Call]:
    """The calls of ``exec`` and ``async_exec`` of a request."""
    flow = flow_of(call.file)
    for node, _ in call.file.calls():
        is_execution = method_of(node) in ("exec", "async_exec") and isinstance(node.func, ast.Attribute)
        if is_execution and value_of(flow, node.func.value) is call.node:  # type: ignore[attr-defined]
            yield node


def _is_answer(call: ModelCall, node: ast.expr | None) -> bool:
    """Whether ``node`` is the response to the call."""
    value = value_of(flow_of(call.file), node) if node is not None else None
    value = value.value if isinstance(value, ast.Await) else value
    return any(value is execution for execution in executions(call))


def _is_read(call: ModelCall, execution: ast.Call) -> bool:
    """Whether the future is used as a response where nothing awaits it."""
    flow = flow_of(call.file)
    parent = flow.parents.get(execution)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return isinstance(parent, ast.Attribute) and parent.attr in ("has_error", "output_tensors", "error")
    names = flow.names(flow.function(execution), parent.targets[0].id)
    uses = [flow.parents.get(name) for name in names if name is not parent.targets[0]]
    reads = [
        use for use in uses if isinstance(use, ast.Attribute) and use.attr in ("has_error", "output_tensors", "error")
    ]
    return (
        bool(reads)
        and all(isinstance(use, ast.Attribute | ast.Call) for use in uses)
        and not any(isinstance(flow.parents.get(use), ast.Await) for use in uses if use is not None)
    )
