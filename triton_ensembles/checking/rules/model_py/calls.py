"""Requests of a model.py to other models of its repository (BLS): the models and tensors that they name."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import ROUTER, router
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.model_calls import ModelCall, elements_of, known_calls, model_calls
from triton_ensembles.checking.python.nodes import argument, hides_arguments
from triton_ensembles.checking.python.source import UTILS
from triton_ensembles.checking.rule import Destination, Finding, Model, Repository, Severity, rule
from triton_ensembles.checking.sagemaker import for_sagemaker
from triton_ensembles.ground.spelling import listed, suggestion

SOURCE = "python_backend r24.10 request_executor.cc, core r24.10 infer_request.cc; measured on 2.51.0"
_LOADS = "the model loads, and the call answers with an error: "
# Which argument of a call is the tensor's name.
_NAME_OF = {f"{UTILS}.Tensor": 0, f"{UTILS}.get_input_tensor_by_name": 1}
_EARLY = """\
    def initialize(self, args):
        x = pb_utils.Tensor("X", np.zeros((1, 4), np.float32))
        call = pb_utils.InferenceRequest(model_name="scaler", requested_output_names=["Y"], inputs=[x])
        self.answer = call.exec()

"""
GOOD = router()


@rule("Every model that a model.py calls is in the repository", bad=router("scaler", "scalar"), lower=Severity.WARNING)
def model_py_called_model(repositories: tuple[Repository, ...], destination: Destination) -> Iterator[Finding]:
    models = [model for repository in repositories for model in repository.models]
    known = {name for model in models for name in (model.folder, model.name)}
    for model in models:
        repository = model.repository
        if repository.is_one_model or repository.is_archive or for_sagemaker(repository, destination):
            continue
        if destination.device == "fused" and repository.ensembles:  # fused-calls
            continue
        for call in model_calls(model):
            if any(name == f"{UTILS}.load_model" for _, name in call.file.calls()):  # it may bring its own models
                continue
            for name in call.names or ():
                if name not in known and flow_of(call.file).when(call.node, loops_run=True) is not When.PERHAPS:
                    meant = suggestion(name, known)
                    message = f"this calls the model '{name}', which is not in the repository"
                    effect = f"the request fails, unless another repository has it: Model '{name}' is not ready"
                    severity = None if meant else Severity.WARNING
                    cure = meant or "add the model, or correct the name"
                    yield Finding(call.file.place(call.node), message, effect, cure, severity)


@rule("A call gives the called model its inputs", bad=router('pb_utils.Tensor("X", x)', 'pb_utils.Tensor("x", x)'))
def model_call_input(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        tensors = _tensors(call)
        known = {tensor.name for tensor in callee.config.input}
        if tensors is None or callee.config.HasField("sequence_batching"):
            continue
        for node, name in tensors:
            if name not in known:
                message = f"the model '{callee.name}' has no input '{name}'"
                effect = f"{_LOADS}unexpected inference input '{name}' for model '{callee.name}'"
                yield Finding(call.file.place(node), message, effect, _meant(name, known))
        names = {name for _, name in tensors}
        missing = [tensor.name for tensor in callee.config.input if not tensor.optional and tensor.name not in names]
        if missing and names <= known:
            message = f"this call lacks the input {listed(missing)} of the model '{callee.name}'"
            effect = f"{_LOADS}expected {len(known)} inputs but got {len(names)} inputs"
            yield Finding(call.file.place(call.node), message, effect, f"add {listed(missing)} to inputs")


@rule("A call requests outputs of the called model", bad=router('output_names=["Y"]', 'output_names=["y"]'))
def model_call_output(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        known = {tensor.name for tensor in callee.config.output}
        for node, name in call.requested_outputs():
            if name not in known:
                message = f"the model '{callee.name}' has no output '{name}'"
                effect = f"{_LOADS}unexpected inference output '{name}' for model '{callee.name}'"
                yield Finding(call.file.place(node), message, effect, _meant(name, known))


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


def _tensors(call: ModelCall) -> list[tuple[ast.expr, str]] | None:
    """Return the node and the name of each input of a call; None if they are not all known."""
    inputs = elements_of(call.file, argument(call.node, 2, "inputs"))
    if inputs is None or hides_arguments(call.node):
        return None
    tensors: list[tuple[ast.expr, str]] = []
    for element in inputs:
        value = call.value(element)
        position = _NAME_OF.get(call.file.full_name(value.func)) if isinstance(value, ast.Call) else None
        name = call.name_in(value, position, "name") if isinstance(value, ast.Call) and position is not None else None
        if value is None or name is None:
            return None
        tensors.append((value, name))
    return tensors


def _meant(name: str, known: set[str]) -> str:
    return suggestion(name, known) or f"it has {listed(known)}"
