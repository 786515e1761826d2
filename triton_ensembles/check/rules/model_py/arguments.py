"""What model.py gives to the classes and functions of pb_utils."""

import ast
from collections.abc import Iterator

from triton_ensembles.check.examples import script_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.python.flow import CLASS, When, flow_of
from triton_ensembles.check.python.kinds import (
    ARGS,
    ARRAY,
    CONFIG,
    DICT,
    ERROR,
    LIST,
    METHOD,
    NONE,
    NUMBER,
    REQUEST,
    RESPONSE,
    SCALAR,
    SENDER,
    TENSOR,
    TEXT,
    Kind,
)
from triton_ensembles.check.python.source import UTILS, PythonFile, argument, every_file
from triton_ensembles.check.python.types import types_of
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.model_py.model_class import EXECUTE
from triton_ensembles.check.rules.model_py.names import FAILS, LATER, is_expected, is_guarded
from triton_ensembles.spelling import listed, nearest
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import image_of, version

GOOD = script_model(f"class {CLASS}:\n{EXECUTE}")
_FAILURE = """
    def refuse(self, request):
        if not request.inputs():
            return pb_utils.InferenceResponse(error="there are no inputs")
"""
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
_REQUIRED = {"inputs": 2, "requested_output_names": 3, "model_name": 4}  # of an InferenceRequest, with their positions
_SEND = frozenset({"response", "flags"})
_NO_LISTS = frozenset({DICT, NONE, TENSOR, TEXT, NUMBER, RESPONSE, REQUEST, METHOD})
_LOOKED_IN = (LIST, TEXT, TENSOR, REQUEST, RESPONSE)
_OF_REQUESTS = f"{UTILS}.get_input_tensor_by_name"
_OF_RESPONSES = f"{UTILS}.get_output_tensor_by_name"
_OF_CONFIGS = (f"{UTILS}.get_input_config_by_name", f"{UTILS}.get_output_config_by_name")


@rule(
    "The classes and functions of pb_utils get the arguments that they know",
    source="python_backend, branches r22.07 to r26.07: src/pb_stub.cc, py::arg; Tensor has no names for its arguments",
    bad=script_model(f"class {CLASS}:\n{EXECUTE.replace('InferenceResponse(', 'InferenceResponse(outputs=')}"),
)
def model_py_call_arguments(model: Model, destination: Destination) -> Iterator[Finding]:
    yield from _miscalled(model, destination, certain=True)


@rule(
    "The classes and functions of pb_utils get the arguments that they know in every branch",
    source="as for model-py-call-arguments",
    bad=script_model(f"class {CLASS}:\n{EXECUTE}{_FAILURE}"),
    severity=Severity.WARNING,
)
def model_py_call_arguments_later(model: Model, destination: Destination) -> Iterator[Finding]:
    yield from _miscalled(model, destination, certain=False)


def _miscalled(model: Model, destination: Destination, certain: bool) -> Iterator[Finding]:
    image = image_of(destination)
    keywords = dict(_KEYWORDS)
    if image and version(image.release) < _PARAMETERS_OF_RESPONSES:
        keywords["InferenceResponse"] -= {"parameters"}
    for file in every_file(model):
        for call, name in file.calls() if not is_guarded(file) else ():
            found = _wrong(file, call, name, keywords)
            when = flow_of(file).when(call, loops_run=True) if found else When.PERHAPS
            if found and (when is not When.PERHAPS) is certain and not is_expected(file, call):
                message, cure, error = found
                yield Finding(file.place(call), message, f"{FAILS.get(when, LATER)}: {error}", cure)


def _wrong(
    file: PythonFile, call: ast.Call, name: str, keywords: dict[str, frozenset[str]]
) -> tuple[str, str, str] | None:
    """What is wrong with a call, the cure, and the error of Python."""
    hidden = any(isinstance(each, ast.Starred) for each in call.args)
    hidden = hidden or any(keyword.arg is None for keyword in call.keywords)
    last = name.removeprefix(f"{UTILS}.")
    if last != name and last in keywords:
        found = _wrong_value(file, call, last, hidden) or _wrong_name(call, f"pb_utils.{last}", keywords[last])
        return (*found, _INCOMPATIBLE) if found else None
    if name in ("json.loads", "json.load"):
        return _wrong_json(file, call, name)
    if last != name and not hidden:
        return _wrong_lookup(file, call, name)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "send":
        holder = types_of(file).kind(call.func.value)
        if holder and holder.name == SENDER:
            found = _wrong_name(call, "send", _SEND) or _wrong_response(file, call)
            return (*found, "TypeError: send(): incompatible function arguments") if found else None
    return None


def _wrong_name(call: ast.Call, called: str, known: frozenset[str]) -> tuple[str, str] | None:
    wrong = next((each.arg for each in call.keywords if each.arg and each.arg not in known), None)
    if wrong is None:
        return None
    meant = nearest(wrong, known)
    cure = f"write {meant}=" if meant else f"it takes {listed(known)}" if known else "give its arguments without names"
    return f"{called} has no argument called '{wrong}'", cure


def _wrong_value(file: PythonFile, call: ast.Call, name: str, hidden: bool) -> tuple[str, str] | None:
    """An argument that surely has the wrong type, or one too many or too few."""
    if hidden:
        return None
    if name == "Tensor":
        return _wrong_tensor(file, call)
    if name == "TritonError":
        message = argument(call, 0, "message")
        if message is not None and (_is_exception(file, message) or _is_not(file, message, TEXT)):
            return "TritonError takes a text", "write str(…) around it"
    if name == "InferenceResponse":
        return _wrong_list(file, argument(call, 0, "output_tensors"), "InferenceResponse") or _wrong_error(file, call)
    if name == "InferenceRequest":
        for key, position in _REQUIRED.items():
            if argument(call, position, key) is None:
                return f"InferenceRequest needs the argument '{key}'", f"add {key}="
        if _is_not(file, argument(call, 3, "requested_output_names"), LIST, "a tuple", "a set", "a dictionary"):
            return "requested_output_names is a list of names", 'write ["…"]'
        return _wrong_list(file, argument(call, 2, "inputs"), "InferenceRequest")
    return None


def _wrong_tensor(file: PythonFile, call: ast.Call) -> tuple[str, str] | None:
    if not call.keywords and len(call.args) != 2:
        return (
            f"pb_utils.Tensor takes a name and an array, and gets {len(call.args)} values",
            "write Tensor(name, array)",
        )
    name, array = (types_of(file).kind(argument(call, number, "")) for number in (0, 1))
    if name and name.name != TEXT:
        swapped = array and array.name == TEXT
        return (
            f"pb_utils.Tensor takes a name and an array, and gets {name.name} first",
            "swap them: Tensor(name, array)" if swapped else "write Tensor(name, array)",
        )
    if array is None or array.name == ARRAY:
        return None
    if array.name in (TENSOR, METHOD):
        cure = "call as_numpy() of it" if array.name == TENSOR else "call the method: write () after it"
    elif array.name == "a tensor of another framework":
        cure = "write Tensor.from_dlpack(name, tensor), or make an array of it, with numpy() for torch and TensorFlow"
    else:
        cure = "wrap it in np.array([…], dtype=…)" if array.name == SCALAR else "wrap it in np.array(…, dtype=…)"
    return f"pb_utils.Tensor takes a numpy array, and gets {array.name}", cure


def _wrong_list(file: PythonFile, given: ast.expr | None, called: str) -> tuple[str, str] | None:
    found = types_of(file).kind(given)
    if found is None:
        return None
    if found.name in _NO_LISTS:
        brackets = found.name == TENSOR
        return (
            f"{called} takes a list of tensors, and gets {'one tensor' if brackets else found.name}",
            "write [ ] around the tensor" if brackets else "write a list of pb_utils.Tensor(name, array)",
        )
    if found.name == LIST and found.of and found.of.name != TENSOR:
        return (
            f"{called} takes a list of tensors, and gets a list with {found.of.name}",
            "write pb_utils.Tensor(name, array) for each",
        )
    return None


def _wrong_error(file: PythonFile, call: ast.Call) -> tuple[str, str] | None:
    error = argument(call, 1, "error")
    if error is None or not (_is_exception(file, error) or _is_not(file, error, ERROR, NONE)):
        return None
    found = types_of(file).kind(error)
    cure = (
        "write error=pb_utils.TritonError(…)"
        if found and found.name == TEXT
        else "write error=pb_utils.TritonError(str(…))"
    )
    return f"error of an InferenceResponse is {found.name if found else 'an exception'}", cure


def _wrong_response(file: PythonFile, call: ast.Call) -> tuple[str, str] | None:
    if not _is_not(file, argument(call, 0, "response"), RESPONSE, NONE):
        return None
    return "send takes an InferenceResponse", "write send(pb_utils.InferenceResponse([…]))"


def _wrong_json(file: PythonFile, call: ast.Call, name: str) -> tuple[str, str, str] | None:
    found = types_of(file).kind(argument(call, 0, "s"))
    if name == "json.load" and found and found.name == TEXT:
        return "json.load takes a file, and gets a text", "write json.loads(…)", "AttributeError: 'str' has no 'read'"
    if name == "json.loads" and found and found.name in (ARGS, CONFIG):
        cure = 'write json.loads(args["model_config"])' if found.name == ARGS else "use it as it is"
        return "json.loads takes a text, and gets a dictionary", cure, "TypeError: the JSON object must be str"
    return None


def _wrong_lookup(file: PythonFile, call: ast.Call, name: str) -> tuple[str, str, str] | None:
    """``get_input_tensor_by_name(request, name)`` and its neighbors."""
    wanted = {_OF_REQUESTS: REQUEST, _OF_RESPONSES: RESPONSE, **dict.fromkeys(_OF_CONFIGS, CONFIG)}.get(name)
    last = name.removeprefix(f"{UTILS}.")
    if wanted is None or call.keywords:
        return None
    if len(call.args) != 2:
        missing = f"TypeError: {last}() takes 2 positional arguments"
        return f"{last} takes {wanted} and a name, and gets {len(call.args)} values", "give it both", missing
    found = types_of(file).kind(call.args[0])
    if (
        found is None
        or found.name == wanted
        or (wanted != CONFIG and found.name not in (LIST, TEXT, TENSOR, REQUEST, RESPONSE))
    ):
        return None
    cure = {LIST: "give it one of them, in a loop", ARGS: 'give it json.loads(args["model_config"])'}.get(
        found.name, ""
    )
    cure = cure or (
        "write json.loads(…) around it" if wanted == CONFIG else f"give it {wanted} first, and then the name"
    )
    return f"{last} takes {wanted}, and gets {found.name}", cure, f"it finds nothing in {found.name}"


def _is_not(file: PythonFile, node: ast.expr | None, *kinds: str) -> bool:
    """Whether it surely is none of these."""
    found: Kind | None = types_of(file).kind(node)
    return found is not None and found.name not in kinds


def _is_exception(file: PythonFile, node: ast.expr) -> bool:
    """Whether it is the ``e`` of ``except … as e``."""
    if not isinstance(node, ast.Name):
        return False
    for parent, _ in flow_of(file).above(node):
        if isinstance(parent, ast.ExceptHandler) and parent.name == node.id:
            return flow_of(file).binders(node.id, parent) == [parent]
    return False
