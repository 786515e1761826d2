"""Uses of pb_utils in model.py that Python refuses: arguments of its classes, and methods that its objects lack."""

import ast
from collections.abc import Callable, Iterator
from functools import cache

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected, is_guarded
from triton_ensembles.checking.python.flow import Misuse, When, flow_of
from triton_ensembles.checking.python.nodes import argument, hides_arguments, is_changed
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_file
from triton_ensembles.checking.rule import Destination, Finding, Model, Severity, rule
from triton_ensembles.ground.spelling import listed, nearest, suggestion
from triton_ensembles.triton.backends import STUB_BRANCHES
from triton_ensembles.triton.pb_utils import pb_utils
from triton_ensembles.triton.releases import image_of, version

GOOD = class_model()
_INCOMPATIBLE = "TypeError: incompatible constructor arguments"
_CALLED = ("Tensor", "InferenceResponse", "TritonError", "InferenceRequest")
_PARAMETERS_OF_RESPONSES = (25, 2)
# Where the stub package has the methods of a kind, and those of other kinds.
_CLASSES = {
    Kind.REQUEST: "InferenceRequest",
    Kind.TENSOR: "Tensor",
    Kind.RESPONSE: "InferenceResponse",
    Kind.RESPONSES: "_ResponseIterator",
    Kind.SENDER: "_ResponseSender",
}
_METHODS = {
    Kind.COROUTINE: "send throw close cr_await cr_code cr_frame cr_origin cr_running cr_suspended",
    # The attributes of numpy's arrays, of numpy 1 and 2.
    Kind.ARRAY: "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj "
    "conjugate copy ctypes cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat "
    "flatten getfield imag item itemset itemsize mT max mean min nbytes ndim newbyteorder nonzero "
    "partition prod ptp put ravel real repeat reshape resize round searchsorted setfield setflags shape "
    "size sort squeeze std strides sum swapaxes take to_device tobytes tofile tolist tostring trace "
    "transpose var view",
    Kind.LIST: " ".join(dir(list)),
}
_CURES = {
    Kind.RESPONSES: "read them in a loop: for response in ….exec(decoupled=True):",
    Kind.COROUTINE: "write await before async_exec()",
}
_CURES_OF_ARRAYS = {Kind.TENSOR: "call as_numpy() of it", Kind.REQUEST: "give it the array of one of its inputs"}
# Whose methods are nothing to ask for without calling them.
_OF_TRITON = (Kind.REQUEST, Kind.TENSOR, Kind.RESPONSE, Kind.SENDER)
_READERS = {"get_input_tensor_by_name": Kind.REQUEST, "get_output_tensor_by_name": Kind.RESPONSE}
# What people write for them.
_USUAL: dict[tuple[Kind, str], str] = {
    **{(Kind.TENSOR, name): "as_numpy()" for name in ("numpy", "to_numpy", "asnumpy", "data", "tolist")},
    **{(Kind.TENSOR, name): f"as_numpy().{name}" for name in ("dtype", "size", "ndim", "T", "astype", "reshape")},
    **{(Kind.REQUEST, name): "pb_utils.get_input_tensor_by_name(request, name)" for name in ("as_numpy", "get_input")},
    (Kind.REQUEST, "id"): "request_id()",
    (Kind.RESPONSE, "as_numpy"): "pb_utils.get_output_tensor_by_name(response, name)",
    (Kind.SENDER, "close"): "send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)",
}


@rule(
    "The classes of pb_utils get the arguments that they know",
    source=f"python_backend, branches {STUB_BRANCHES}: src/pb_stub.cc, py::arg; Tensor has no names for its arguments",
    bad=class_model(EXECUTE.replace("InferenceResponse(", "InferenceResponse(outputs=")),
    lower=Severity.WARNING,
)
def model_py_call_arguments(model: Model, destination: Destination) -> Iterator[Finding]:
    """Yield a warning where the call may never run."""
    if not model.is_python:
        return
    image = image_of(destination)
    keywords = {name: pb_utils().keywords[name] for name in _CALLED}
    if image and version(image.release) < _PARAMETERS_OF_RESPONSES:
        keywords["InferenceResponse"] -= {"parameters"}
    for file, node, misuse in _misuses(model, lambda file, node: _misused_class(file, node, keywords)):
        when = flow_of(file).when(node, loops_run=True)
        yield misuse.finding(file.place(node), when, when is not When.PERHAPS)


def _misused_class(file: PythonFile, call: ast.AST, keywords: dict[str, frozenset[str]]) -> Misuse | None:
    if not isinstance(call, ast.Call):
        return None
    module, _, function = file.full_name(call.func).rpartition(".")
    if module != UTILS or function not in keywords:
        return None
    known = keywords[function]
    unknown = next((keyword.arg for keyword in call.keywords if keyword.arg and keyword.arg not in known), None)
    if unknown is not None:
        usual = f"it takes {listed(known)}" if known else "give its arguments without names"
        cure = suggestion(unknown, known, "write {}=") or usual
        return Misuse(f"pb_utils.{function} has no argument called '{unknown}'", _INCOMPATIBLE, cure)
    if hides_arguments(call):
        return None
    return _of_tensor(file, call) if function == "Tensor" else _of_error(file, call, function)


def _of_tensor(file: PythonFile, call: ast.Call) -> Misuse | None:
    takes = "pb_utils.Tensor takes a name and a numpy array, and gets"
    if len(call.args) != 2:
        return Misuse(f"{takes} {len(call.args)} values", _INCOMPATIBLE, "write Tensor(name, array)")
    kind = kind_of(file, argument(call, 1, ""))
    if kind in (None, Kind.ARRAY):
        return None
    return Misuse(f"{takes} {kind}", _INCOMPATIBLE, _CURES_OF_ARRAYS.get(kind, "wrap it in np.array(…, dtype=…)"))


def _of_error(file: PythonFile, call: ast.Call, function: str) -> Misuse | None:
    """Return the misuse of ``error=str(e)`` and ``error=e``, which many public models have."""
    given = kind_of(file, argument(call, 1, "error")) if function == "InferenceResponse" else None
    if given not in (Kind.TEXT, Kind.EXCEPTION):
        return None
    cure = f"write error=pb_utils.TritonError({'…' if given is Kind.TEXT else 'str(…)'})"
    return Misuse(f"error of an InferenceResponse is {given}", _INCOMPATIBLE, cure)


@rule(
    "Triton's objects have the methods that model.py certainly calls",
    source=f"python_backend, branches {STUB_BRANCHES}: src/pb_stub.cc; measured on 2.51.0",
    bad=class_model(EXECUTE.replace("x.as_numpy()", "x.numpy()")),
    lower=Severity.WARNING,
)
def model_py_object_use(model: Model) -> Iterator[Finding]:
    """Yield a warning where the line may never run."""
    for file, node, misuse in _misuses(model, _misused_object):
        when = flow_of(file).when(node, loops_run=True)
        yield misuse.finding(file.place(node), when, when.is_certain)


def _misuses(
    model: Model, look: Callable[[PythonFile, ast.AST], Misuse | None]
) -> Iterator[tuple[PythonFile, ast.AST, Misuse]]:
    """Yield what ``look`` finds in the model's files, but where these reckon with it."""
    for file in every_file(model):
        for node in file.nodes if not is_guarded(file) else ():
            if (misuse := look(file, node)) and not is_expected(file, node):
                yield file, node, misuse


def _misused_object(file: PythonFile, node: ast.AST) -> Misuse | None:
    if isinstance(node, ast.Await):
        if (kind := kind_of(file, node.value)) in (Kind.RESPONSE, Kind.RESPONSES):
            error = f"TypeError: {kind} can't be used in 'await' expression"
            return Misuse("exec() is no coroutine", error, "write await ….async_exec()")
    elif isinstance(node, ast.Call):
        module, _, function = file.full_name(node.func).rpartition(".")
        wanted, kind = _READERS.get(function) if module == UTILS else None, kind_of(file, argument(node, 0, ""))
        if wanted and kind not in (None, wanted):
            cure = _CURES.get(kind or wanted, f"give it {wanted}")
            return Misuse(f"{function} takes {wanted}, and gets {kind}", "AttributeError", cure)
    elif isinstance(node, ast.Attribute) and not is_changed(node) and not node.attr.startswith("__"):
        return _misused(file, node)
    return None


@cache
def _names_of(kind: Kind) -> frozenset[str]:
    """Return the methods and attributes of a kind of object, none where they are not known."""
    if kind in _CLASSES:
        return pb_utils().members[_CLASSES[kind]]
    return frozenset(_METHODS.get(kind, "").split())


def _misused(file: PythonFile, node: ast.Attribute) -> Misuse | None:
    kind = kind_of(file, node.value)
    known = _names_of(kind) if kind else frozenset()
    if kind is None or not known:
        return None
    if node.attr in known:
        parent = file.scopes.parents.get(node)
        is_asked = isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.Assert) or getattr(parent, "test", None) is node
        if kind not in _OF_TRITON or not is_asked:
            return None
        error = f"{node.attr} is always true"
        return Misuse(f"{node.attr} is a method, and nothing calls it here", error, f"write {node.attr}()")
    near = nearest(node.attr, known)
    meant = _USUAL.get((kind, node.attr)) or near
    cure = _CURES.get(kind) or (f"write {meant}" if meant else f"it has {', '.join(sorted(known))}")
    return Misuse(f"{kind} has no '{node.attr}'", f"AttributeError: object has no attribute '{node.attr}'", cure)
