"""Triton's objects in model.py, and the few values beside them that rules tell apart, where the text says what they
are. Frozen: what these lines do not know, ``check --run`` finds out."""

import ast
from enum import StrEnum

from triton_ensembles.checking.python.bindings import binding_of, value_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import argument, is_name, is_over, name_of, requests_of
from triton_ensembles.checking.python.source import UTILS, PythonFile

_DEEPEST = 12  # names and calls that lead to others


class Kind(StrEnum):
    """A kind of value, as a sentence says it."""

    REQUEST = "an InferenceRequest"
    TENSOR = "a pb_utils.Tensor"
    RESPONSE = "an InferenceResponse"
    RESPONSES = "an iterator of responses"
    COROUTINE = "a coroutine"
    SENDER = "a response sender"
    ARRAY = "a numpy array"
    LIST = "a list"
    TUPLE = "a tuple"
    DICT = "a dictionary"
    SET = "a set"
    GENERATOR = "a generator"
    TEXT = "a text"


_MADE = {
    **dict.fromkeys(("get_input_tensor_by_name", "get_output_tensor_by_name", "Tensor"), Kind.TENSOR),
    "InferenceRequest": Kind.REQUEST,
    "InferenceResponse": Kind.RESPONSE,
}
_GIVEN = {
    (Kind.TENSOR, "as_numpy"): Kind.ARRAY,
    (Kind.REQUEST, "get_response_sender"): Kind.SENDER,
    **dict.fromkeys(((Kind.REQUEST, "inputs"), (Kind.RESPONSE, "output_tensors"), (Kind.ARRAY, "tolist")), Kind.LIST),
    **{(Kind.ARRAY, name): Kind.ARRAY for name in ("astype", "reshape", "copy", "squeeze", "flatten", "transpose")},
}
_LITERALS: dict[type, Kind] = {
    ast.List: Kind.LIST, ast.ListComp: Kind.LIST, ast.Tuple: Kind.TUPLE, ast.Dict: Kind.DICT, ast.DictComp: Kind.DICT,
    ast.Set: Kind.SET, ast.SetComp: Kind.SET, ast.GeneratorExp: Kind.GENERATOR, ast.JoinedStr: Kind.TEXT,
}  # fmt: skip


def kind_of(file: PythonFile, node: ast.expr | None, depth: int = 0) -> Kind | None:
    """Return the kind that an expression certainly has, None when it is not known."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        binding = binding_of(file.scopes, node)
        if binding is None:
            return None
        is_loop = binding.target is not None
        if is_loop and not isinstance(binding.target, ast.Name):
            return None
        return (_element if is_loop else kind_of)(file, binding.value, depth + 1)
    if isinstance(node, ast.Call):
        module, _, function = file.full_name(node.func).rpartition(".")
        if module == UTILS:
            return _MADE.get(function)
        if is_name(node.func, "str") and file.scopes.is_builtin(node.func):
            return Kind.TEXT
        holder = kind_of(file, node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else None
        if holder is Kind.REQUEST and name_of(node.func) in ("exec", "async_exec"):
            return Kind.COROUTINE if name_of(node.func) == "async_exec" else _answer(node)
        return _GIVEN.get((holder, name_of(node.func))) if holder else None
    if isinstance(node, ast.Await):
        awaited = value_of(file.scopes, node.value)
        return _answer(awaited) if kind_of(file, awaited, depth + 1) is Kind.COROUTINE else None
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return _element(file, node.value, depth + 1)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Kind.TEXT
    return _LITERALS.get(type(node)) if node is not None else None


def _answer(execution: ast.expr) -> Kind | None:
    """Return the kind of what ``exec()`` gives, or ``exec(decoupled=True)``."""
    if not isinstance(execution, ast.Call) or not (execution.args or execution.keywords):
        return Kind.RESPONSE
    decoupled = argument(execution, 0, "decoupled")
    return Kind.RESPONSES if isinstance(decoupled, ast.Constant) and decoupled.value is True else None


def _element(file: PythonFile, holder: ast.expr, depth: int) -> Kind | None:
    """Return the kind of the elements of the requests, of the tensors of one, or of what a comprehension makes."""
    scopes = file.scopes
    function = scopes.function(holder)
    if function is not None and function is flow_of(file).method("execute") and is_over(holder, requests_of(function)):
        name = holder if isinstance(holder, ast.Name) else None
        is_bound = name is not None and len(scopes.binders(name)) > 1
        return Kind.REQUEST if name is not None and not is_bound else None
    value = value_of(scopes, holder)
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return kind_of(file, value.elt, depth + 1)
    if isinstance(value, ast.Call) and name_of(value.func) in ("inputs", "output_tensors"):
        return Kind.TENSOR if kind_of(file, value, depth + 1) is Kind.LIST else None
    return None
