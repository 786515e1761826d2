"""The arguments that model.py gives to the classes and functions of pb_utils, and the models that it calls by them."""

import ast
from collections.abc import Iterator

from triton_ensembles.checking.python.examples import EXECUTE, class_model, router
from triton_ensembles.checking.python.expected import is_expected, is_guarded
from triton_ensembles.checking.python.flow import Misuse, When, flow_of
from triton_ensembles.checking.python.kinds import Kind
from triton_ensembles.checking.python.nodes import argument, hides_arguments
from triton_ensembles.checking.python.source import UTILS, PythonFile, every_call, every_file
from triton_ensembles.checking.python.types import types_of
from triton_ensembles.checking.python.values import texts_of
from triton_ensembles.checking.rule import Destination, Finding, Model, Repository, Severity, rule
from triton_ensembles.checking.sagemaker import for_sagemaker
from triton_ensembles.ground.spelling import listed, suggestion
from triton_ensembles.triton.backends import STUB_BRANCHES
from triton_ensembles.triton.releases import image_of, version

GOOD = class_model()
_INCOMPATIBLE = "TypeError: incompatible constructor arguments"
_INCOMPATIBLE_SEND = "TypeError: send(): incompatible function arguments"
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
_REQUIRED = {"inputs": 2, "requested_output_names": 3, "model_name": 4}  # of an InferenceRequest, with their positions
_NO_LISTS = frozenset({Kind.DICT, Kind.NONE, Kind.TEXT, Kind.NUMBER, Kind.RESPONSE, Kind.REQUEST, Kind.METHOD})
_LOOKED_IN = frozenset({Kind.LIST, Kind.TEXT, Kind.TENSOR, Kind.REQUEST, Kind.RESPONSE})
_LOOKUPS = {
    "get_input_tensor_by_name": Kind.REQUEST,
    "get_output_tensor_by_name": Kind.RESPONSE,
    **dict.fromkeys(("get_input_config_by_name", "get_output_config_by_name"), Kind.CONFIG),
}


@rule(
    "The classes and functions of pb_utils get the arguments that they know",
    source=f"python_backend, branches {STUB_BRANCHES}: src/pb_stub.cc, py::arg; Tensor has no names for its arguments",
    bad=class_model(EXECUTE.replace("InferenceResponse(", "InferenceResponse(outputs=")),
    lower=Severity.WARNING,
)
def model_py_call_arguments(model: Model, destination: Destination) -> Iterator[Finding]:
    """A warning where the call may never run."""
    image = image_of(destination)
    keywords = dict(_KEYWORDS)
    if image and version(image.release) < _PARAMETERS_OF_RESPONSES:
        keywords["InferenceResponse"] -= {"parameters"}
    for file in every_file(model):
        for call, name in file.calls() if not is_guarded(file) else ():
            misuse = _misuse(file, call, name, keywords)
            if misuse and not is_expected(file, call):
                when = flow_of(file).when(call, loops_run=True)
                yield misuse.finding(file.place(call), when, when is not When.PERHAPS)


def _misuse(file: PythonFile, call: ast.Call, name: str, keywords: dict[str, frozenset[str]]) -> Misuse | None:
    if name in ("json.loads", "json.load"):
        return _of_json(file, call, name)
    function = name.removeprefix(f"{UTILS}.")
    if function != name and function in keywords:
        misuse = _of_class(file, call, function) if not hides_arguments(call) else None
        return misuse or _of_keywords(call, f"pb_utils.{function}", keywords[function], _INCOMPATIBLE)
    if function in _LOOKUPS and function != name and not hides_arguments(call):
        return _of_lookup(file, call, function, _LOOKUPS[function])
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "send" or function != name:
        return None
    return _of_send(file, call) if types_of(file).kind(call.func.value) is Kind.SENDER else None


def _of_keywords(call: ast.Call, function: str, known: frozenset[str], error: str) -> Misuse | None:
    unknown = next((keyword.arg for keyword in call.keywords if keyword.arg and keyword.arg not in known), None)
    if unknown is None:
        return None
    usual = f"it takes {listed(known)}" if known else "give its arguments without names"
    cure = suggestion(unknown, known, "write {}=") or usual
    return Misuse(f"{function} has no argument called '{unknown}'", error, cure)


def _of_class(file: PythonFile, call: ast.Call, name: str) -> Misuse | None:
    """An argument that certainly has the wrong type, or one too many or too few."""
    if name == "Tensor":
        return _of_tensor(file, call)
    if name == "TritonError":
        message = argument(call, 0, "message")
        if message is not None and (_is_exception(file, message) or _is_not(file, message, Kind.TEXT)):
            return Misuse("TritonError takes a text", _INCOMPATIBLE, "write str(…) around it")
        return None
    if name == "InferenceResponse":
        return _of_list(file, argument(call, 0, "output_tensors"), name) or _of_error(file, call)
    for key, position in _REQUIRED.items():
        if argument(call, position, key) is None:
            return Misuse(f"InferenceRequest needs the argument '{key}'", _INCOMPATIBLE, f"add {key}=")
    names = argument(call, 3, "requested_output_names")
    if _is_not(file, names, Kind.LIST, Kind.TUPLE, Kind.SET, Kind.DICT):
        return Misuse("requested_output_names is a list of names", _INCOMPATIBLE, 'write ["…"]')
    return _of_list(file, argument(call, 2, "inputs"), name)


def _of_tensor(file: PythonFile, call: ast.Call) -> Misuse | None:
    takes = "pb_utils.Tensor takes a name and an array, and gets"
    if not call.keywords and len(call.args) != 2:
        return Misuse(f"{takes} {len(call.args)} values", _INCOMPATIBLE, "write Tensor(name, array)")
    name, array = (types_of(file).kind(argument(call, position, "")) for position in (0, 1))
    if name and name is not Kind.TEXT:
        cure = "swap them: Tensor(name, array)" if array is Kind.TEXT else "write Tensor(name, array)"
        return Misuse(f"{takes} {name} first", _INCOMPATIBLE, cure)
    if array is None or array is Kind.ARRAY:
        return None
    cures = {
        Kind.TENSOR: "call as_numpy() of it",
        Kind.METHOD: "call the method: write () after it",
        Kind.FRAMEWORK: "write Tensor.from_dlpack(name, tensor), or make an array of it with numpy()",
        Kind.SCALAR: "wrap it in np.array([…], dtype=…)",
    }
    cure = cures.get(array, "wrap it in np.array(…, dtype=…)")
    return Misuse(f"pb_utils.Tensor takes a numpy array, and gets {array}", _INCOMPATIBLE, cure)


def _of_list(file: PythonFile, node: ast.expr | None, function: str) -> Misuse | None:
    tensors = types_of(file).type_of(node)
    if tensors is None:
        return None
    takes = f"{function} takes a list of tensors, and gets"
    if tensors.kind is Kind.TENSOR:
        return Misuse(f"{takes} one tensor", _INCOMPATIBLE, "write [ ] around the tensor")
    if tensors.kind in _NO_LISTS:
        cure = "write a list of pb_utils.Tensor(name, array)"
        return Misuse(f"{takes} {tensors.kind}", _INCOMPATIBLE, cure)
    element = tensors.element.kind if tensors.kind is Kind.LIST and tensors.element else Kind.TENSOR
    if element is not Kind.TENSOR:
        cure = "write pb_utils.Tensor(name, array) for each"
        return Misuse(f"{takes} a list with {element}", _INCOMPATIBLE, cure)
    return None


def _of_error(file: PythonFile, call: ast.Call) -> Misuse | None:
    error = argument(call, 1, "error")
    if error is None or not (_is_exception(file, error) or _is_not(file, error, Kind.ERROR, Kind.NONE)):
        return None
    kind = types_of(file).kind(error)
    cure = f"write error=pb_utils.TritonError({'…' if kind is Kind.TEXT else 'str(…)'})"
    return Misuse(f"error of an InferenceResponse is {kind if kind else 'an exception'}", _INCOMPATIBLE, cure)


def _of_send(file: PythonFile, call: ast.Call) -> Misuse | None:
    misuse = _of_keywords(call, "send", frozenset({"response", "flags"}), _INCOMPATIBLE_SEND)
    if misuse or not _is_not(file, argument(call, 0, "response"), Kind.RESPONSE, Kind.NONE):
        return misuse
    cure = "write send(pb_utils.InferenceResponse([…]))"
    return Misuse("send takes an InferenceResponse", _INCOMPATIBLE_SEND, cure)


def _of_json(file: PythonFile, call: ast.Call, name: str) -> Misuse | None:
    kind = types_of(file).kind(argument(call, 0, "s"))
    if name == "json.load" and kind is Kind.TEXT:
        error = "AttributeError: 'str' has no 'read'"
        return Misuse("json.load takes a file, and gets a text", error, "write json.loads(…)")
    if name == "json.loads" and kind in (Kind.ARGS, Kind.CONFIG):
        cure = 'write json.loads(args["model_config"])' if kind is Kind.ARGS else "use it as it is"
        return Misuse("json.loads takes a text, and gets a dictionary", "TypeError: the JSON object must be str", cure)
    return None


def _of_lookup(file: PythonFile, call: ast.Call, function: str, holder: Kind) -> Misuse | None:
    """``get_input_tensor_by_name(request, name)`` and its neighbors, which look in ``holder``."""
    if call.keywords:
        return None
    if len(call.args) != 2:
        error = f"TypeError: {function}() takes 2 positional arguments"
        message = f"{function} takes {holder} and a name, and gets {len(call.args)} values"
        return Misuse(message, error, "give it both")
    kind, is_config = types_of(file).kind(call.args[0]), holder is Kind.CONFIG
    if kind is None or kind is holder or (not is_config and kind not in _LOOKED_IN):
        return None
    cures = {Kind.LIST: "give it one of them, in a loop", Kind.ARGS: 'give it json.loads(args["model_config"])'}
    usual = "write json.loads(…) around it" if is_config else f"give it {holder} first, and then the name"
    message = f"{function} takes {holder}, and gets {kind}"
    return Misuse(message, f"it finds nothing in {kind}", cures.get(kind, usual))


def _is_not(file: PythonFile, node: ast.expr | None, *kinds: Kind) -> bool:
    return types_of(file).kind(node) not in (None, *kinds)


def _is_exception(file: PythonFile, node: ast.expr) -> bool:
    """Whether it is the ``e`` of ``except … as e``."""
    flow = flow_of(file)
    for parent, _ in flow.above(node):
        if isinstance(parent, ast.ExceptHandler) and isinstance(node, ast.Name) and parent.name == node.id:
            return flow.binders(node.id, parent) == [parent]
    return False


@rule(
    "Every model that a model.py calls is in the repository",
    source="python_backend r24.10 src/request_executor.cc; measured on 2.51.0",
    bad=router("scaler", "scalar"),
    lower=Severity.WARNING,
)
def model_py_called_model(repositories: tuple[Repository, ...], destination: Destination) -> Iterator[Finding]:
    models = [model for repository in repositories for model in repository.models]
    known = {name for model in models for name in (model.folder, model.name)}
    for model in models:
        repository = model.repository
        if repository.is_one_model or repository.is_archive or for_sagemaker(repository, destination):
            continue
        if destination.device == "fused" and repository.ensembles:  # fused-calls
            continue
        for file, call, function in every_call(model):
            if function != f"{UTILS}.InferenceRequest" or b"load_model" in file.data:  # it may bring its own models
                continue
            for name in texts_of(file, argument(call, 4, "model_name")) or ():
                if name not in known and flow_of(file).when(call, loops_run=True) is not When.PERHAPS:
                    meant = suggestion(name, known)
                    message = f"this calls the model '{name}', which is not in the repository"
                    effect = f"the request fails, unless another repository has it: Model '{name}' is not ready"
                    severity = None if meant else Severity.WARNING
                    cure = meant or "add the model, or correct the name"
                    yield Finding(file.place(call), message, effect, cure, severity)
