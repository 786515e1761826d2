"""Values of auto_complete_config that contradict config.pbtxt."""

import ast
from collections.abc import Iterator
from typing import Any

from triton_ensembles.checking.built_for import severity_at_completion
from triton_ensembles.checking.examples import COMPLETING, python_model
from triton_ensembles.checking.python.bindings import value_of
from triton_ensembles.checking.python.flow import Flow, flow_of
from triton_ensembles.checking.python.nodes import Function, is_changed, is_name, method_of
from triton_ensembles.checking.python.source import model_files
from triton_ensembles.checking.rule import Example, Finding, Model, Severity, rule
from triton_ensembles.checking.tensors import type_name
from triton_ensembles.triton.model_config import DataType

SOURCE = "python_backend r24.10 triton_python_backend_utils.py ModelConfig; measured on 2.51.0"
_KINDS = {"add_input": "input", "add_output": "output"}
_PROPERTIES = {"input": ("name", "data_type", "dims", "optional"), "output": ("name", "data_type", "dims")}
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.Pass)
_MOST_CALLS = 1000


@rule(
    "auto_complete_config agrees with what config.pbtxt has",
    bad=Example(python_model(inputs='{ name: "X", data_type: TYPE_FP32, dims: [ 8 ] }'), {"1/model.py": COMPLETING}),
    good=Example(python_model(), {"1/model.py": COMPLETING}),
    lower=Severity.WARNING,
)
def model_py_completion_differs(model: Model) -> Iterator[Finding]:
    """Looks only at calls that certainly run, with values that stand there."""
    for file in model_files(model) if model.has_config else ():
        method = flow_of(file).method("auto_complete_config")
        for call, values in _calls(flow_of(file), method) if method and method.args.args else ():
            if message := _contradiction(model, call, values):
                effect = "a server that completes configs, which is the default, does not load the model"
                cure = "make auto_complete_config and config.pbtxt agree, or delete it from config.pbtxt"
                yield Finding(file.place(call), message, effect, cure, severity_at_completion(model.repository))


def _calls(flow: Flow, method: Function) -> Iterator[tuple[ast.Call, dict[str, Any] | int]]:
    """The calls of the config that run whatever happens, and their argument, which may lack what is not known."""
    config = method.args.args[-1].arg
    if any(map(is_changed, flow.names(method, config))):
        return  # it is something else from there on
    for place, statement in enumerate(method.body):
        if not isinstance(statement, _SIMPLE) or place == _MOST_CALLS:
            return  # it may end the method
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or len(call.args) != 1:
            continue
        if not isinstance(call.func, ast.Attribute) or not is_name(call.func.value, config):
            continue
        value = call.args[0]
        if isinstance(value, ast.Name) and len(flow.names(method, value.id)) == 2:
            value = value_of(flow, value)  # it is bound once, and nothing else is done with it
        if isinstance(value, ast.Dict):
            yield call, _of_dict(value)
        elif type(number := _literal(value)) is int:
            yield call, number


def _of_dict(node: ast.Dict) -> dict[str, Any]:
    """The values of a literal; {} when a key is none."""
    values: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            return {}
        values[key.value] = _literal(value)
    return values


def _literal(node: ast.expr) -> Any:
    """The value of a literal, None when it is none."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def _contradiction(model: Model, call: ast.Call, values: dict[str, Any] | int) -> str:
    config = model.written
    method = method_of(call)
    if isinstance(values, int):
        if method == "set_max_batch_size" and config.max_batch_size > values:
            return f"config.pbtxt has max_batch_size: {config.max_batch_size}, and set_max_batch_size gets {values}"
        return ""
    if method == "set_model_transaction_policy":
        decoupled = values.get("decoupled")
        differs = config.HasField("model_transaction_policy") and isinstance(decoupled, bool)
        if differs and config.model_transaction_policy.decoupled != decoupled:
            return f"config.pbtxt has decoupled: {str(not decoupled).lower()}, and this sets {decoupled}"
        return ""
    kind = _KINDS.get(method)
    return _of_tensor(model, kind, values) if kind and values else ""


def _of_tensor(model: Model, kind: str, values: dict[str, Any]) -> str:
    for key in values:
        if key not in _PROPERTIES[kind]:
            return f"this {kind} has '{key}', which Triton does not take"
    for key in _PROPERTIES[kind][:3]:
        if key not in values:
            return f"this {kind} has no '{key}'"
    name = values["name"]
    tensor = next((tensor for tensor in getattr(model.written, kind) if tensor.name == name), None)
    if tensor is None or not isinstance(name, str):
        return ""
    data_type, dims, optional = values["data_type"], values["dims"], values.get("optional")
    written = type_name(tensor.data_type)
    if isinstance(data_type, str) and tensor.data_type != DataType.TYPE_INVALID and data_type != written:
        return f"config.pbtxt has data_type: {written} for {kind} '{name}', and this is {data_type}"
    if isinstance(dims, list) and tensor.dims and dims != list(tensor.dims):
        return f"config.pbtxt has dims: {list(tensor.dims)} for {kind} '{name}', and these are {dims}"
    if kind == "input" and isinstance(optional, bool) and optional != tensor.optional:
        return f"config.pbtxt has optional: {str(tensor.optional).lower()} for input '{name}', and this is {optional}"
    return ""
