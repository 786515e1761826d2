"""The arguments that model.py gives to the classes of pb_utils."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model
from triton_ensembles.checking.python.expected import is_expected, is_guarded
from triton_ensembles.checking.python.flow import Misuse, When, flow_of
from triton_ensembles.checking.python.nodes import argument, hides_arguments
from triton_ensembles.checking.python.objects import Kind, kind_of
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_file
from triton_ensembles.checking.rule import Destination, Finding, Model, Severity, rule
from triton_ensembles.ground.spelling import listed, suggestion
from triton_ensembles.triton.backends import STUB_BRANCHES
from triton_ensembles.triton.releases import image_of, version

GOOD = class_model()
_INCOMPATIBLE = "TypeError: incompatible constructor arguments"
_KEYWORDS: dict[str, frozenset[str]] = {
    "Tensor": frozenset(),
    "InferenceResponse": frozenset({"output_tensors", "error", "parameters"}),
    "TritonError": frozenset({"message", "code"}),
    "InferenceRequest": frozenset(
        {"request_id", "correlation_id", "inputs", "requested_output_names", "model_name", "model_version", "flags"}
        | {"timeout", "preferred_memory", "trace", "parameters"}
    ),
}
_PARAMETERS_OF_RESPONSES = (25, 2)
_CURES = {Kind.TENSOR: "call as_numpy() of it", Kind.REQUEST: "give it the array of one of its inputs"}


@rule(
    "The classes of pb_utils get the arguments that they know",
    source=f"python_backend, branches {STUB_BRANCHES}: src/pb_stub.cc, py::arg; Tensor has no names for its arguments",
    bad=class_model(EXECUTE.replace("InferenceResponse(", "InferenceResponse(outputs=")),
    lower=Severity.WARNING,
)
def model_py_call_arguments(model: Model, destination: Destination) -> Iterator[Finding]:
    """Yield a warning where the call may never run."""
    image = image_of(destination)
    keywords = dict(_KEYWORDS)
    if image and version(image.release) < _PARAMETERS_OF_RESPONSES:
        keywords["InferenceResponse"] -= {"parameters"}
    for file in every_file(model):
        for call, name in file.calls if not is_guarded(file) else ():
            misuse = _misuse(file, call, name, keywords)
            if misuse and not is_expected(file, call):
                when = flow_of(file).when(call, loops_run=True)
                yield misuse.finding(file.place(call), when, when is not When.PERHAPS)


def _misuse(file: PythonFile, call: ast.Call, name: str, keywords: dict[str, frozenset[str]]) -> Misuse | None:
    module, _, function = name.rpartition(".")
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
    return Misuse(f"{takes} {kind}", _INCOMPATIBLE, _CURES.get(kind, "wrap it in np.array(…, dtype=…)"))


def _of_error(file: PythonFile, call: ast.Call, function: str) -> Misuse | None:
    """Return the misuse of ``error=str(e)`` and ``error=e``, which many public models have."""
    error = argument(call, 1, "error") if function == "InferenceResponse" else None
    if error is None or not (kind_of(file, error) is Kind.TEXT or _is_exception(file, error)):
        return None
    given = Kind.TEXT if kind_of(file, error) is Kind.TEXT else "an exception"
    cure = f"write error=pb_utils.TritonError({'…' if given is Kind.TEXT else 'str(…)'})"
    return Misuse(f"error of an InferenceResponse is {given}", _INCOMPATIBLE, cure)


def _is_exception(file: PythonFile, node: ast.expr) -> bool:
    """Return whether it is the ``e`` of ``except … as e``."""
    flow = flow_of(file)
    handlers = (parent for parent, _ in flow.scopes.above(node) if isinstance(parent, ast.ExceptHandler))
    return isinstance(node, ast.Name) and any(flow.scopes.binders(node) == [each] for each in handlers)
