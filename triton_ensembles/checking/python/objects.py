"""Triton's objects in model.py, and the few values beside them that rules tell apart, where the text says what they
are. Frozen: what these lines do not know, ``check --run`` finds out."""

import ast
from enum import StrEnum

from triton_ensembles.checking.python.bindings import binding_of, value_of
from triton_ensembles.checking.python.definitions import model_class_of
from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import argument, gives_none, is_name, method_of, requests_of
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
    ITERATOR = "an iterator"
    TEXT = "a text"
    CONSTANT = "a constant"
    EXCEPTION = "an exception"
    NONE = "None"


_MADE = {
    **dict.fromkeys((f"{UTILS}.get_{kind}_tensor_by_name" for kind in ("input", "output")), Kind.TENSOR),
    f"{UTILS}.Tensor": Kind.TENSOR,
    f"{UTILS}.InferenceRequest": Kind.REQUEST,
    f"{UTILS}.InferenceResponse": Kind.RESPONSE,
    **{"str": Kind.TEXT, "json.dumps": Kind.TEXT, "tuple": Kind.TUPLE, "dict": Kind.DICT, "set": Kind.SET},
    **dict.fromkeys(("map", "filter", "zip", "iter"), Kind.ITERATOR),
}
_GIVEN = {
    (Kind.TENSOR, "as_numpy"): Kind.ARRAY,
    (Kind.REQUEST, "get_response_sender"): Kind.SENDER,
    **dict.fromkeys(((Kind.REQUEST, "inputs"), (Kind.RESPONSE, "output_tensors"), (Kind.ARRAY, "tolist")), Kind.LIST),
    **{(Kind.ARRAY, name): Kind.ARRAY for name in ("astype", "reshape", "copy", "squeeze", "flatten", "transpose")},
    **{(Kind.TEXT, name): Kind.TEXT for name in ("upper", "lower", "strip", "replace", "join", "format")},
}
_LITERALS: dict[type, Kind] = {
    ast.List: Kind.LIST, ast.ListComp: Kind.LIST, ast.Tuple: Kind.TUPLE, ast.Dict: Kind.DICT, ast.DictComp: Kind.DICT,
    ast.Set: Kind.SET, ast.SetComp: Kind.SET, ast.GeneratorExp: Kind.GENERATOR, ast.JoinedStr: Kind.TEXT,
}  # fmt: skip
_CONSTANTS = {str: Kind.TEXT, type(None): Kind.NONE}


def kind_of(file: PythonFile, node: ast.expr | None, depth: int = 0) -> Kind | None:
    """Return the kind that an expression certainly has, None when it is not known."""
    if node is None or depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        binders = file.scopes.binders(node)
        if binders and all(isinstance(binder, ast.ExceptHandler) for binder in binders):
            return Kind.EXCEPTION
        binding = binding_of(file.scopes, node)
        if binding is None or isinstance(binding.target, ast.Tuple):
            return None
        return (_element if binding.target else kind_of)(file, binding.value, depth + 1)
    if isinstance(node, ast.Call):
        return _of_call(file, node, depth)
    if isinstance(node, ast.Await):
        awaited = value_of(file.scopes, node.value)
        return _answer(awaited) if kind_of(file, awaited, depth + 1) is Kind.COROUTINE else None
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        return _element(file, node.value, depth + 1)
    if isinstance(node, ast.Constant):
        return _CONSTANTS.get(type(node.value), Kind.CONSTANT)
    return _LITERALS.get(type(node))


def _of_call(file: PythonFile, call: ast.Call, depth: int) -> Kind | None:
    name = file.full_name(call.func)
    if name in _MADE and ("." in name or file.scopes.is_builtin(call.func)):
        return _MADE[name]
    helper = flow_of(file).helper(call)
    if helper is not None:
        return Kind.NONE if isinstance(helper.node, ast.FunctionDef) and gives_none(helper.node) else None
    if not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "decode":  # other objects have a method of this name as well
        encoding = argument(call, 0, "encoding")
        is_text = isinstance(encoding, ast.Constant) and str(encoding.value).lower() in ("utf-8", "utf8", "ascii")
        return Kind.TEXT if is_text else None
    holder = kind_of(file, call.func.value, depth + 1)
    if holder is Kind.REQUEST and call.func.attr in ("exec", "async_exec"):
        return Kind.COROUTINE if call.func.attr == "async_exec" else _answer(call)
    return _GIVEN.get((holder, call.func.attr)) if holder else None


def _answer(execution: ast.expr) -> Kind | None:
    """Return the kind of what ``exec()`` gives, or ``exec(decoupled=True)``."""
    if not isinstance(execution, ast.Call) or not (execution.args or execution.keywords):
        return Kind.RESPONSE
    decoupled = argument(execution, 0, "decoupled")
    return Kind.RESPONSES if isinstance(decoupled, ast.Constant) and decoupled.value is True else None


def _element(file: PythonFile, holder: ast.expr, depth: int) -> Kind | None:
    """Return the kind of the elements of the requests, of the tensors of one, or of what a comprehension makes."""
    function = file.scopes.function(holder)
    execute = model_class_of(file).method("execute")
    requests = requests_of(execute.node) if execute and execute.node is function else ""
    if is_name(holder, requests) and len(file.scopes.binders(holder)) == 1:
        return Kind.REQUEST
    value = value_of(file.scopes, holder)
    if isinstance(value, ast.ListComp | ast.GeneratorExp):
        return kind_of(file, value.elt, depth + 1)
    if isinstance(value, ast.Call) and method_of(value) in ("inputs", "output_tensors"):
        return Kind.TENSOR if kind_of(file, value, depth + 1) is Kind.LIST else None
    return None
