"""Uses of Triton's objects in model.py: methods that they do not have."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected, is_guarded
from triton_ensembles.checking.python.flow import Misuse, flow_of
from triton_ensembles.checking.python.nodes import argument, is_changed
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_file
from triton_ensembles.checking.rule import Finding, Model, Severity, rule
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.backends import STUB_BRANCHES

GOOD = class_model()
_METHODS = {
    Kind.REQUEST: "inputs request_id correlation_id requested_output_names parameters flags set_flags timeout trace "
    "set_release_flags is_cancelled exec async_exec get_response_sender",
    Kind.TENSOR: "name as_numpy shape triton_dtype is_cpu to_dlpack from_dlpack",
    Kind.RESPONSE: "output_tensors has_error error parameters",
    Kind.RESPONSES: "cancel",
    Kind.COROUTINE: "send throw close cr_await cr_code cr_frame cr_origin cr_running cr_suspended",
    Kind.SENDER: "send is_cancelled",
    # The attributes of numpy's arrays, of numpy 1 and 2.
    Kind.ARRAY: "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj "
    "conjugate copy ctypes cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat "
    "flatten getfield imag item itemset itemsize mT max mean min nbytes ndim newbyteorder nonzero "
    "partition prod ptp put ravel real repeat reshape resize round searchsorted setfield setflags shape "
    "size sort squeeze std strides sum swapaxes take to_device tobytes tofile tolist tostring trace "
    "transpose var view",
    Kind.LIST: " ".join(dir(list)),
}
_KNOWN = {kind: frozenset(names.split()) for kind, names in _METHODS.items()}
_CURES = {
    Kind.RESPONSES: "read them in a loop: for response in ….exec(decoupled=True):",
    Kind.COROUTINE: "write await before async_exec()",
}
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
    "Triton's objects have the methods that model.py certainly calls",
    source=f"python_backend, branches {STUB_BRANCHES}: src/pb_stub.cc; measured on 2.51.0",
    bad=class_model(EXECUTE.replace("x.as_numpy()", "x.numpy()")),
    lower=Severity.WARNING,
)
def model_py_object_use(model: Model) -> Iterator[Finding]:
    """Yield a warning where the line may never run."""
    for file in every_file(model):
        for node in file.nodes if not is_guarded(file) else ():
            misuse = _misuse(file, node)
            if misuse and not is_expected(file, node):
                when = flow_of(file).when(node, loops_run=True)
                yield misuse.finding(file.place(node), when, when.is_certain)


def _misuse(file: PythonFile, node: ast.AST) -> Misuse | None:
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


def _misused(file: PythonFile, node: ast.Attribute) -> Misuse | None:
    kind = kind_of(file, node.value)
    if kind is None or kind not in _KNOWN:
        return None
    if node.attr in _KNOWN[kind]:
        parent = file.scopes.parents.get(node)
        is_asked = isinstance(parent, ast.BoolOp | ast.UnaryOp | ast.Assert) or getattr(parent, "test", None) is node
        if kind not in _OF_TRITON or not is_asked:
            return None
        error = f"{node.attr} is always true"
        return Misuse(f"{node.attr} is a method, and nothing calls it here", error, f"write {node.attr}()")
    near = nearest(node.attr, _KNOWN[kind])
    meant = _USUAL.get((kind, node.attr)) or near
    cure = _CURES.get(kind) or (f"write {meant}" if meant else f"it has {', '.join(sorted(_KNOWN[kind]))}")
    return Misuse(f"{kind} has no '{node.attr}'", f"AttributeError: object has no attribute '{node.attr}'", cure)
