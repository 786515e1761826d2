"""Uses of Triton's objects in model.py: methods that they do not have."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected, is_guarded
from triton_ensembles.checking.python.flow import Misuse, flow_of
from triton_ensembles.checking.python.nodes import is_changed
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import PythonFile, every_file
from triton_ensembles.checking.rule import Finding, Model, Severity, rule
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.triton.backends import STUB_BRANCHES

GOOD = class_model()
_METHODS = {
    Kind.REQUEST: "inputs request_id correlation_id requested_output_names parameters flags set_flags timeout trace "
    "set_release_flags is_cancelled preferred_memory exec async_exec get_response_sender",
    Kind.TENSOR: "name as_numpy shape triton_dtype is_cpu to_dlpack from_dlpack",
    Kind.RESPONSE: "output_tensors has_error error parameters",
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
            if not isinstance(node, ast.Attribute) or is_changed(node) or node.attr.startswith("__"):
                continue
            misuse = _misuse(file, node)
            if misuse and not is_expected(file, node):
                when = flow_of(file).when(node, loops_run=True)
                yield misuse.finding(file.place(node), when, when.is_certain)


def _misuse(file: PythonFile, node: ast.Attribute) -> Misuse | None:
    kind = kind_of(file, node.value)
    if kind is None or kind not in _KNOWN or node.attr in _KNOWN[kind]:
        return None
    near = nearest(node.attr, _KNOWN[kind])
    meant = _USUAL.get((kind, node.attr)) or near
    cure = f"write {meant}" if meant else f"it has {', '.join(sorted(_KNOWN[kind]))}"
    return Misuse(f"{kind} has no '{node.attr}'", f"AttributeError: object has no attribute '{node.attr}'", cure)
