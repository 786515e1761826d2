"""Requests of a model.py to other models of its repository (BLS): the models and tensors that they name."""

import ast
from collections.abc import Collection, Iterator

from triton_ensembles.checking.python.bindings import elements_of, value_of
from triton_ensembles.checking.python.dtypes import dtype_of_array
from triton_ensembles.checking.python.examples import router
from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.model_calls import ModelCall, known_calls, model_calls
from triton_ensembles.checking.python.nodes import argument, hides_arguments, is_called, method_of, name_of
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import UTILS, PythonFile
from triton_ensembles.checking.python.values import text_of
from triton_ensembles.checking.rule import Destination, Finding, Model, Repository, rule
from triton_ensembles.checking.sagemaker import for_sagemaker
from triton_ensembles.ground.spelling import listed, suggestion
from triton_ensembles.triton.model_config import datatype_of

SOURCE = "python_backend r24.10 request_executor.cc, core r24.10 infer_request.cc; measured on 2.51.0"
_LOADS = "the model loads, and the call answers with an error: "
# Which argument of a call is the tensor's name.
_NAME_OF = {f"{UTILS}.Tensor": 0, f"{UTILS}.get_input_tensor_by_name": 1}
GOOD = router()


@rule("Every model that a model.py calls is in the repository", bad=router("scaler", "scalar"))
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
            may_load = f"{UTILS}.load_model" in call.file.called  # its own models
            for name in call.names or () if not may_load else ():
                meant = suggestion(name, known)
                if name in known or (not meant and _falls_back(call)):
                    continue
                if flow_of(call.file).when(call.node, loops_run=True) is not When.PERHAPS:
                    message = f"this calls the model '{name}', which is not in the repository"
                    effect = f"the request fails, unless another repository has it: Model '{name}' is not ready"
                    cure = meant or "add the model, or correct the name"
                    yield Finding(call.file.place(call.node), message, effect, cure)


def _falls_back(call: ModelCall) -> bool:
    """Return whether its file asks has_error() of an answer, and goes on without it."""
    for node in call.file.nodes:
        if isinstance(node, ast.If | ast.IfExp) and any(is_called(part, "has_error") for part in ast.walk(node.test)):
            parts = list(ast.walk(node))
            names = {part.arg if isinstance(part, ast.keyword) else name_of(part) for part in parts}
            if names.isdisjoint(("error", "TritonError")) and not any(isinstance(part, ast.Raise) for part in parts):
                return True
    return False


@rule(
    "A call gives the called model its inputs, of their types",
    bad=router('pb_utils.Tensor("X", x)', 'pb_utils.Tensor("x", x)'),
)
def model_call_input(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        tensors = _tensors(model, call)
        types = {tensor.name: datatype_of(tensor.data_type) for tensor in callee.config.input}
        if tensors is None or callee.config.HasField("sequence_batching"):
            continue
        for node, name, datatype in tensors:
            wanted = types.get(name, "")
            if not wanted:
                message = f"the model '{callee.name}' has no input '{name}'"
                effect = f"{_LOADS}unexpected inference input '{name}' for model '{callee.name}'"
                yield Finding(call.file.place(node), message, effect, _meant(name, types))
            elif datatype and datatype != wanted and "INVALID" not in (datatype, wanted):
                message = f"the input '{name}' of this call is {datatype}, and the model '{callee.name}' takes {wanted}"
                effect = f"{_LOADS}inference input '{name}' data-type is '{datatype}', but model expects '{wanted}'"
                yield Finding(call.file.place(node), message, effect, "make a pb_utils.Tensor of an array of this type")
        names = {name for _, name, _ in tensors}
        missing = [tensor.name for tensor in callee.config.input if not tensor.optional and tensor.name not in names]
        if missing and names <= types.keys():
            message = f"this call lacks the input {listed(missing)} of the model '{callee.name}'"
            effect = f"{_LOADS}expected {len(types)} inputs but got {len(names)} inputs"
            yield Finding(call.file.place(call.node), message, effect, f"add {listed(missing)} to inputs")


@rule("A call requests outputs of the called model", bad=router('output_names=["Y"]', 'output_names=["y"]'))
def model_call_output(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        known = {tensor.name for tensor in callee.config.output}
        for node in _elements(call.file, argument(call.node, 3, "requested_output_names")) or ():
            name = text_of(call.file, node)
            if name is not None and name not in known:
                message = f"the model '{callee.name}' has no output '{name}'"
                effect = f"{_LOADS}unexpected inference output '{name}' for model '{callee.name}'"
                yield Finding(call.file.place(node), message, effect, _meant(name, known))


@rule("A decoupled model is called as such", bad=router("", "", "model_transaction_policy { decoupled: true }"))
def model_call_kind(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        if callee.config.model_transaction_policy.decoupled:
            for execution in call.executions():
                if not execution.args and not execution.keywords:
                    message = f"the model '{callee.name}' is decoupled: it may send any number of responses"
                    effect = f"{_LOADS}the model uses the decoupled transaction policy"
                    cure = f"write for response in ….{method_of(execution)}(decoupled=True):"
                    yield Finding(call.file.place(execution), message, effect, cure)


def _tensors(model: Model, call: ModelCall) -> list[tuple[ast.expr, str, str]] | None:
    """Return the node, the name and the datatype ("" if unknown) of each input; None if they are not all known."""
    file, node = call.file, argument(call.node, 2, "inputs")
    own = {} if model.is_completed else {tensor.name: datatype_of(tensor.data_type) for tensor in model.config.input}
    value = value_of(file.scopes, node) if node is not None else None
    if isinstance(value, ast.Call) and method_of(value) == "inputs" and kind_of(file, value) is Kind.LIST:
        has_all = own and not any(tensor.optional for tensor in model.config.input)  # a request may lack these
        return [(value, name, datatype) for name, datatype in own.items()] if has_all else None
    inputs = _elements(file, node)
    if inputs is None or hides_arguments(call.node):
        return None
    tensors: list[tuple[ast.expr, str, str]] = []
    for element in inputs:
        value = value_of(file.scopes, element)
        function = file.full_name(value.func) if isinstance(value, ast.Call) else ""
        if not isinstance(value, ast.Call) or function not in _NAME_OF:
            return None
        name = text_of(file, argument(value, _NAME_OF[function], "name"))
        if name is None:
            return None
        is_new = _NAME_OF[function] == 0
        tensors.append((value, name, dtype_of_array(file, argument(value, 1, "")) if is_new else own.get(name, "")))
    return tensors


def _elements(file: PythonFile, node: ast.expr | None) -> list[ast.expr] | None:
    """Return the elements of a list or tuple that nothing is appended to; None where they are not known."""
    value = value_of(file.scopes, node) if node is not None else None
    is_known = node and isinstance(value, ast.List | ast.Tuple) and elements_of(file.scopes, node) == value.elts
    return value.elts if is_known else None  # type: ignore[union-attr]


def _meant(name: str, known: Collection[str]) -> str:
    return suggestion(name, known) or f"it has {listed(known)}"
