"""The dtypes of numpy's arrays, where model.py says them. Frozen: ``check --run`` proves the others."""

import ast

from triton_ensembles.checking.python.bindings import elements_of, value_of
from triton_ensembles.checking.python.nodes import argument, hides_arguments, method_of
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import PythonFile

TEXTS = "str"  # the dtype of arrays of Python's texts, which Triton does not take
_DEEPEST = 12  # names and calls that lead to others
_MOST = 100  # elements of a list that are looked at
# Functions of numpy: the position of their dtype, and the dtype without one.
_MAKING = {
    **dict.fromkeys(("numpy.zeros", "numpy.ones", "numpy.empty"), (1, "FP64")),
    **dict.fromkeys(("numpy.array", "numpy.asarray"), (1, "")),
    "numpy.full": (2, ""),
}
_KEEPING = frozenset({"reshape", "transpose", "flatten", "ravel", "squeeze", "copy"})
_NUMBERS: dict[type, str] = {float: "FP64", int: "INT64", bool: "BOOL"}
_DTYPES = {
    "bool": "BOOL", "bool_": "BOOL", "int": "INT64", "float": "FP64", "object": "BYTES", "object_": "BYTES",
    "O": "BYTES", "bytes": "BYTES", "bytes_": "BYTES", "half": "FP16", "single": "FP32", "double": "FP64",
    "str": TEXTS, "str_": TEXTS, "U": TEXTS,
    **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FP{bits}" for bits in (16, 32, 64)},
}  # fmt: skip
_OF_PYTHON = frozenset({"bool", "int", "float", "object", "str", "bytes"})


def dtype_of_array(file: PythonFile, node: ast.expr | None, depth: int = 0) -> str:
    """Return the dtype of an array as Triton calls it (``FP32``), :data:`TEXTS`, "" if unknown."""
    call = value_of(file.scopes, node) if node is not None else None
    if not isinstance(call, ast.Call) or depth > _DEEPEST:
        return ""
    name = file.full_name(call.func)
    if name in _MAKING:
        position, usual = _MAKING[name]
        dtype = argument(call, position, "dtype")
        if dtype is not None:
            return _dtype(file, dtype)
        is_of_values = name != "numpy.full" and not usual and not hides_arguments(call)
        return _dtype_of_values(file, argument(call, 0, ""), depth) if is_of_values else usual
    if name == "numpy.argmax" and any(keyword.arg == "axis" for keyword in call.keywords):
        return "INT64"
    if method_of(call) == "astype":
        return _dtype(file, argument(call, 0, "dtype"))
    if isinstance(call.func, ast.Attribute) and call.func.attr in _KEEPING:
        return dtype_of_array(file, call.func.value, depth + 1)
    return ""


def _dtype(file: PythonFile, node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _DTYPES.get(node.value.lstrip("<>=|"), "")
    if isinstance(node, ast.Name) and node.id not in file.names:
        return _DTYPES[node.id] if node.id in _OF_PYTHON and file.scopes.is_builtin(node) else ""
    name = file.full_name(node) if node is not None else ""
    return _DTYPES.get(name.removeprefix("numpy."), "") if name.startswith("numpy.") else ""


def _dtype_of_values(file: PythonFile, node: ast.expr | None, depth: int) -> str:
    """Return the dtype that numpy gives an array of these values."""
    value = value_of(file.scopes, node) if node is not None else None
    if value is None or depth > _DEEPEST:
        return ""
    if isinstance(value, ast.List | ast.Tuple | ast.ListComp):
        elements = elements_of(file.scopes, node or value) or []
        dtypes = {_dtype_of_values(file, element, depth + 1) for element in elements[:_MOST]}
        return dtypes.pop() if len(dtypes) == 1 and len(elements) <= _MOST else ""
    if kind_of(file, value) is Kind.TEXT:
        return TEXTS
    return _NUMBERS.get(type(value.value), "") if isinstance(value, ast.Constant) else ""
