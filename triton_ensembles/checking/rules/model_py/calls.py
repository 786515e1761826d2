"""Requests of a model.py to other models of its repository (BLS), compared with what those models take and give."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import router
from triton_ensembles.checking.python.model_calls import ModelCall, callees, elements_of, known_calls, model_calls
from triton_ensembles.checking.python.nodes import argument, hides_arguments, method_of
from triton_ensembles.checking.python.source import UTILS
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.rule import Finding, Model, rule
from triton_ensembles.ground.spelling import listed, suggestion
from triton_ensembles.triton.model_config import datatype_of

SOURCE = "python_backend r24.10 request_executor.cc, core r24.10 infer_request.cc; measured on 2.51.0"
_LOADS = "the model loads, and the call answers with an error: "
_TENSOR, _INPUT = f"{UTILS}.Tensor", f"{UTILS}.get_input_tensor_by_name"
_NAME_OF = {_TENSOR: 0, _INPUT: 1}  # which argument of a call is the tensor's name
GOOD = router()


def _tensors(call: ModelCall) -> list[tuple[ast.expr, str, str]] | None:
    """The node, the name and the data type ("" if unknown) of each input of a call; None if they are not all known."""
    inputs = elements_of(call.file, argument(call.node, 2, "inputs"))
    if inputs is None or hides_arguments(call.node):
        return None
    tensors: list[tuple[ast.expr, str, str]] = []
    for element in inputs:
        value = call.value(element)
        position = _NAME_OF.get(call.file.full_name(value.func)) if isinstance(value, ast.Call) else None
        if not isinstance(value, ast.Call) or position is None:
            return None
        name = call.name_in(value, position, "name")
        if name is None:
            return None
        array = None if position else types_of(call.file).type_of(argument(value, 1, "numpy_array"))
        tensors.append((value, name, array.dtype if array else ""))
    return tensors


def _meant(name: str, known: set[str]) -> str:
    return suggestion(name, known) or f"it has {listed(known)}"


@rule("A model.py does not call itself", bad=router('model_name="scaler"', 'model_name="router"', folder="router"))
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


@rule("A call gives the called model its inputs", bad=router('pb_utils.Tensor("X", x)', 'pb_utils.Tensor("x", x)'))
def model_call_input(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        tensors = _tensors(call)
        known = {tensor.name for tensor in callee.config.input}
        if tensors is None or callee.config.HasField("sequence_batching"):
            continue
        for node, name, _ in tensors:
            if name not in known:
                message = f"the model '{callee.name}' has no input '{name}'"
                effect = f"{_LOADS}unexpected inference input '{name}' for model '{callee.name}'"
                yield Finding(call.file.place(node), message, effect, _meant(name, known))
        names = {name for _, name, _ in tensors}
        missing = [tensor.name for tensor in callee.config.input if not tensor.optional and tensor.name not in names]
        if missing and names <= known:
            message = f"this call lacks the input {listed(missing)} of the model '{callee.name}'"
            effect = f"{_LOADS}expected {len(known)} inputs but got {len(names)} inputs"
            yield Finding(call.file.place(call.node), message, effect, f"add {listed(missing)} to inputs")


@rule(
    "A call gives the model that it calls inputs of its data types",
    bad=router('pb_utils.Tensor("X", x)', 'pb_utils.Tensor("X", x.astype("float64"))'),
)
def model_call_type(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        types = {tensor.name: datatype_of(tensor.data_type) for tensor in callee.config.input}
        for node, name, dtype in _tensors(call) or ():
            expected = types.get(name, "")
            if dtype and expected and dtype != expected and dtype.isupper():
                message = f"the model '{callee.name}' takes its input '{name}' as {expected}, and this is {dtype}"
                effect = f"{_LOADS}inference input '{name}' data-type is '{dtype}', but model expects '{expected}'"
                yield Finding(call.file.place(node), message, effect, "convert the array: .astype(…)")


@rule("A call requests outputs of the called model", bad=router('output_names=["Y"]', 'output_names=["y"]'))
def model_call_output(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        known = {tensor.name for tensor in callee.config.output}
        for node, name in call.requested_outputs():
            if name not in known:
                message = f"the model '{callee.name}' has no output '{name}'"
                effect = f"{_LOADS}unexpected inference output '{name}' for model '{callee.name}'"
                yield Finding(call.file.place(node), message, effect, _meant(name, known))


@rule("A call names a version of the called model", bad=router('name="scaler"', 'name="scaler", model_version=7'))
def model_call_version(model: Model) -> Iterator[Finding]:
    for call, callee in known_calls(model):
        version = argument(call.node, 5, "model_version")
        if not isinstance(version, ast.Constant) or not isinstance(version.value, int) or callee.is_version_made:
            continue
        if version.value not in (-1, *callee.served_versions):
            message = f"the model '{callee.name}' serves no version {version.value}"
            effect = f"{_LOADS}Model '{callee.name}' is not ready"
            served = ", ".join(map(str, callee.served_versions)) or "none"
            yield Finding(
                call.file.place(version), message, effect, f"it serves {served}; leave model_version out for the latest"
            )


@rule("A call gives the called model batches that it takes", bad=router("scaler", "scaler", callee="unbatched", size=0))
def model_call_batch(model: Model) -> Iterator[Finding]:
    """Of inputs that are passed on as they came."""
    size = model.config.max_batch_size
    for call, callee in known_calls(model):
        own = {tensor.name: tensor for tensor in model.config.input}
        taken, most = {tensor.name: tensor for tensor in callee.config.input}, callee.config.max_batch_size
        for node, name, _ in _tensors(call) or ():
            source = own.get(_passed_on(call, node) or "")
            if source is None or name not in taken or len(source.dims) != len(taken[name].dims):
                continue
            if bool(size) != bool(most):
                which = ("batches", "does not") if size else ("does not batch", "does")
                message = f"this passes on an input of a model that {which[0]}, and '{callee.name}' {which[1]}"
                effect = f"{_LOADS}unexpected shape for input '{name}'"
                cure = "give both the same kind of max_batch_size, or add or take away the first axis of the array"
            elif size > most:
                message = f"this passes on batches of up to {size}, and '{callee.name}' takes {most} rows"
                effect = f"larger ones are answered with an error: inference request batch-size must be <= {most}"
                cure = f"write max_batch_size: {most} here, or {size} into the config of '{callee.name}'"
            else:
                continue
            yield Finding(call.file.place(node), message, effect, cure)


def _passed_on(call: ModelCall, tensor: ast.expr) -> str | None:
    """The name of the input that a tensor is, unchanged."""
    value: ast.expr | None = tensor
    if isinstance(value, ast.Call) and call.file.full_name(value.func) == _TENSOR:
        array = call.value(argument(value, 1, "numpy_array"))
        if not isinstance(array, ast.Call) or method_of(array) != "as_numpy":
            return None
        value = call.value(array.func.value)  # type: ignore[attr-defined]
    if not isinstance(value, ast.Call) or call.file.full_name(value.func) != _INPUT:
        return None
    return call.name_in(value, 1, "name")
