"""Arrays of numpy and tensors of the frameworks beside it, as far as model.py says what makes them."""

import ast
from collections.abc import Callable

from triton_ensembles.checking.python.kinds import COMPLEX, TEXTS, Kind, Type
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import PythonFile

# Functions of numpy: the position of their dtype, and the dtype without one.
_MAKING = {
    **dict.fromkeys(("zeros", "ones"), (1, "FP64")),
    **dict.fromkeys(("array", "asarray", "ascontiguousarray", "fromiter"), (1, "")),
    "empty": (1, "FP64"),
    "full": (2, ""),
    "linspace": (5, "FP64"),
    "arange": (9, ""),
}
_KEEPING = frozenset(
    {"expand_dims", "squeeze", "reshape", "transpose", "concatenate", "stack", "vstack", "hstack", "repeat", "tile"}
    | {"flip", "copy", "ravel", "atleast_1d", "atleast_2d", "atleast_3d", "swapaxes", "moveaxis", "pad", "clip"}
)
_MOST = 100  # elements of a list that are looked at
_PLACES = frozenset({"argmax", "argmin", "argsort"})
_TEXTUAL = frozenset({"upper", "lower", "strip", "title", "replace", "add", "capitalize"})  # of numpy.char
_METHODS = frozenset({"reshape", "transpose", "flatten", "ravel", "squeeze", "copy", "swapaxes", "repeat", "clip"})
_REDUCING = frozenset({"sum", "mean", "max", "min", "std", "var", "prod", "argmax", "argmin"})
_ONLY_FRAMEWORKS = frozenset({"detach", "cpu", "cuda", "unsqueeze"})  # methods that numpy's arrays do not have
_TORCH = frozenset(
    {"tensor", "as_tensor", "from_numpy", "from_dlpack", "zeros", "ones", "full", "empty", "rand", "randn", "arange"}
    | {"stack", "cat", "softmax", "sigmoid", "argmax", "nn.functional.softmax", "nn.functional.normalize"}
    | {"nn.functional.sigmoid", "nn.functional.log_softmax", "nn.functional.interpolate"}
)
_FRAMEWORKS = frozenset({f"torch.{name}" for name in _TORCH} | {"tensorflow.constant", "tensorflow.convert_to_tensor"})
_IMAGES = frozenset({"PIL.Image.open", "PIL.Image.fromarray", "PIL.Image.new"})
_DTYPES = {
    "bool": "BOOL", "bool_": "BOOL", "int": "INT64", "float": "FP64", "object": "BYTES", "object_": "BYTES",
    "O": "BYTES", "bytes": "BYTES", "bytes_": "BYTES", "half": "FP16", "single": "FP32", "double": "FP64",
    "float_": "FP64",
    "str": TEXTS, "str_": TEXTS, "unicode_": TEXTS, "complex": COMPLEX,
    **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FP{bits}" for bits in (16, 32, 64)},
    **{f"complex{bits}": COMPLEX for bits in (64, 128)},
}  # fmt: skip
_OF_PYTHON = frozenset({"bool", "int", "float", "object", "str", "bytes", "complex"})


def dtype_of(file: PythonFile, node: ast.expr | None) -> str:
    """Triton's name of a dtype, "" when it is not known."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.lstrip("<>=|")
        return TEXTS if (name[:1] == "U" and name[1:].isdigit()) or name == "U" else _DTYPES.get(name, "")
    if isinstance(node, ast.Name) and node.id not in file.names:
        return _DTYPES[node.id] if node.id in _OF_PYTHON else ""
    name = file.full_name(node) if node is not None else ""
    return _DTYPES.get(name.removeprefix("numpy."), "") if name.startswith("numpy.") else ""


def type_of_call(
    file: PythonFile, call: ast.Call, name: str, type_of: Callable[[ast.expr | None], Type | None]
) -> Type | None:
    """The type of what a function makes whose full name is ``name``."""
    if name in _FRAMEWORKS:
        return Type(Kind.FRAMEWORK)
    if name in _IMAGES:
        return Type(Kind.IMAGE)
    if name in ("json.dumps", "base64.b64encode"):
        return Type(Kind.TEXT if name == "json.dumps" else Kind.BYTES)
    function = name.removeprefix("numpy.")
    values = argument(call, 0, "")
    if function == name or any(keyword.arg in (None, "out") for keyword in call.keywords):
        return None
    if function in _MAKING:
        position, usual = _MAKING[function]
        dtype = argument(call, position, "dtype")
        return Type(Kind.ARRAY, dtype=dtype_of(file, dtype) if dtype else usual or _dtype_of_values(values, type_of))
    source = type_of(values)
    if function in _KEEPING:  # of what other libraries have, numpy gives back their own
        array = source.element if source and source.kind in (Kind.LIST, Kind.TUPLE) else source
        return Type(Kind.ARRAY, dtype=array.dtype) if array and array.kind is Kind.ARRAY else None
    is_array = source is not None and source.kind is Kind.ARRAY
    if function.startswith("char.") and source and is_array:
        method = function.removeprefix("char.")
        kept = source.dtype if method in _TEXTUAL else ""
        return Type(Kind.ARRAY, dtype={"decode": TEXTS, "encode": "BYTES"}.get(method, kept))
    if function in _REDUCING and is_array and len(call.args) == 1 and not call.keywords:
        return Type(Kind.SCALAR)
    if function in _PLACES and (len(call.args) > 1 or any(keyword.arg == "axis" for keyword in call.keywords)):
        return Type(Kind.ARRAY, dtype="INT64")
    return None


def type_of_method(file: PythonFile, call: ast.Call, method: str, holder: Type | None) -> Type | None:
    """The type of what a method of an array gives, or of something that is not known."""
    if holder and holder.kind is Kind.ARRAY:
        if method == "astype":
            return Type(Kind.ARRAY, dtype=dtype_of(file, argument(call, 0, "dtype")))
        if method in _METHODS:
            return holder
        if method in _REDUCING and not call.args and not call.keywords:
            return Type(Kind.SCALAR)
        return {"tolist": Type(Kind.LIST), "tobytes": Type(Kind.BYTES)}.get(method)
    if holder is None or holder.kind is Kind.FRAMEWORK:
        if method in _ONLY_FRAMEWORKS:
            return Type(Kind.FRAMEWORK)
        if method == "numpy" and holder:
            return Type(Kind.ARRAY)
    return None


def _dtype_of_values(node: ast.expr | None, type_of: Callable[[ast.expr | None], Type | None]) -> str:
    values = type_of(node)
    if values is None:
        return ""
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) < _MOST:
        types = (type_of(element) for element in node.elts)
        kinds = {element.kind if element else None for element in types}
        if Kind.TEXT in kinds and len(kinds) > 1 and kinds <= {Kind.TEXT, Kind.BYTES, Kind.NUMBER}:
            return TEXTS  # numpy makes texts of all of them
        dtypes = {_dtype_of_values(element, type_of) for element in node.elts}
        return dtypes.pop() if len(dtypes) == 1 else ""
    if isinstance(node, ast.Constant) and values.kind is Kind.NUMBER:
        return {float: "FP64", int: "INT64", bool: "BOOL"}.get(type(node.value), "")
    while values.kind in (Kind.LIST, Kind.TUPLE) and values.element:
        values = values.element
    return values.dtype if values.kind is Kind.ARRAY else TEXTS if values.kind is Kind.TEXT else ""
