"""What numpy and the frameworks beside it make, as far as model.py says it: arrays, their dtypes, and what is none."""

import ast
from collections.abc import Callable

from triton_ensembles.check.python.kinds import (
    ARRAY,
    BYTES,
    COMPLEX,
    FRAMEWORK,
    IMAGE,
    LIST,
    NUMBER,
    SCALAR,
    TEXT,
    TEXTS,
    TUPLE,
    Kind,
    Known,
)
from triton_ensembles.check.python.source import PythonFile, argument

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
    "O": "BYTES",
    "bytes": "BYTES", "bytes_": "BYTES", "half": "FP16", "single": "FP32", "double": "FP64", "float_": "FP64",
    "str": TEXTS, "str_": TEXTS, "unicode_": TEXTS, "complex": COMPLEX,
    **{f"{kind}int{bits}": f"{kind.upper()}INT{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"FP{bits}" for bits in (16, 32, 64)},
    **{f"complex{bits}": COMPLEX for bits in (64, 128)},
}  # fmt: skip


def dtype_of(file: PythonFile, node: ast.expr | None) -> str:
    """What a dtype is called by Triton, "" when it is not known."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value.lstrip("<>=|")
        return TEXTS if (name[:1] == "U" and name[1:].isdigit()) or name == "U" else _DTYPES.get(name, "")
    if isinstance(node, ast.Name) and node.id not in file.names:
        return (
            _DTYPES.get(node.id, "") if node.id in ("bool", "int", "float", "object", "str", "bytes", "complex") else ""
        )
    name = file.full_name(node) if node is not None else ""
    return _DTYPES.get(name.removeprefix("numpy."), "") if name.startswith("numpy.") else ""


def kind_of_call(file: PythonFile, call: ast.Call, name: str, kind: Callable[[ast.expr | None], Known]) -> Known:
    """Of a call to a function whose full name is ``name``."""
    if name in _FRAMEWORKS:
        return Kind(FRAMEWORK)
    if name in _IMAGES:
        return Kind(IMAGE)
    if name in ("json.dumps", "base64.b64encode"):
        return Kind(TEXT if name == "json.dumps" else BYTES)
    last = name.removeprefix("numpy.")
    given = argument(call, 0, "")
    if last == name or any(keyword.arg in (None, "out") for keyword in call.keywords):
        return None
    if last in _MAKING:
        position, usual = _MAKING[last]
        written = argument(call, position, "dtype")
        return Kind(ARRAY, dtype=dtype_of(file, written) if written else usual or _dtype_of_values(given, kind))
    found = kind(given)
    if last in _KEEPING:  # of what other libraries have, numpy gives back their own
        held = found.of if found and found.name in (LIST, TUPLE) else found
        return Kind(ARRAY, dtype=held.dtype) if held and held.name == ARRAY else None
    if last.startswith("char.") and found and found.name == ARRAY:
        return Kind(
            ARRAY, dtype={"decode": TEXTS, "encode": "BYTES"}.get(last[5:], found.dtype if last[5:] in _TEXTUAL else "")
        )
    if last in _REDUCING and found and found.name == ARRAY and len(call.args) == 1 and not call.keywords:
        return Kind(SCALAR)
    if last in _PLACES and (len(call.args) > 1 or any(keyword.arg == "axis" for keyword in call.keywords)):
        return Kind(ARRAY, dtype="INT64")
    return None


def kind_of_method(file: PythonFile, call: ast.Call, method: str, holder: Known) -> Known:
    """Of a method of an array, or of something that is not known."""
    if holder and holder.name == ARRAY:
        if method == "astype":
            return Kind(ARRAY, dtype=dtype_of(file, argument(call, 0, "dtype")))
        if method in _METHODS:
            return holder
        if method in _REDUCING and not call.args and not call.keywords:
            return Kind(SCALAR)
        return {"tolist": Kind(LIST), "tobytes": Kind(BYTES)}.get(method)
    if holder is None or holder.name == FRAMEWORK:
        if method in _ONLY_FRAMEWORKS:
            return Kind(FRAMEWORK)
        if method == "numpy" and holder:
            return Kind(ARRAY)
    return None


def _dtype_of_values(node: ast.expr | None, kind: Callable[[ast.expr | None], Known]) -> str:
    """The dtype that numpy chooses for what it is given."""
    found = kind(node)
    if found is None:
        return ""
    if found.name == ARRAY:
        return found.dtype
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) < _MOST:
        kinds = [kind(each) for each in node.elts]
        if {each.name if each else "" for each in kinds} in ({TEXT, BYTES}, {TEXT, NUMBER}, {TEXT, BYTES, NUMBER}):
            return TEXTS  # numpy makes texts of all of them
        inner = {_dtype_of_values(each, kind) for each in node.elts}
        return inner.pop() if len(inner) == 1 else ""
    if isinstance(node, ast.Constant) and found.name == NUMBER:
        return {float: "FP64", int: "INT64", bool: "BOOL"}.get(type(node.value), "")
    while found.name in (LIST, TUPLE) and found.of:
        found = found.of
    return found.dtype if found.name == ARRAY else TEXTS if found.name == TEXT else ""
