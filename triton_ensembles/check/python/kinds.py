"""What a value of model.py is: Triton's own objects, arrays, texts … Names of what is surely known, and only that."""

import ast
from dataclasses import dataclass
from typing import TypeAlias

# Triton's objects.
REQUEST, TENSOR, RESPONSE = "an InferenceRequest", "a pb_utils.Tensor", "an InferenceResponse"
SENDER, ERROR = "a response sender", "a TritonError"
# What initialize gets, and what is in it.
ARGS, CONFIG, IO = "the arguments of initialize", "the model's config", "the config of a tensor"
PARAMETERS, PARAMETER = "the parameters of the config", "a parameter of the config"
DICTIONARIES = frozenset({ARGS, CONFIG, IO, PARAMETERS, PARAMETER})
# What Python and its packages have.
ARRAY, SCALAR, FRAMEWORK, IMAGE = "a numpy array", "a single number", "a tensor of another framework", "an image of PIL"
LIST, TUPLE, DICT, SET, GENERATOR = "a list", "a tuple", "a dictionary", "a set", "a generator"
TEXT, BYTES, NUMBER, NONE = "a text", "bytes", "a number", "None"
COROUTINE, METHOD = "a coroutine that nobody awaits", "a method that is not called"

TEXTS = "str"  # the dtype of arrays of Python's texts, which Triton does not take
COMPLEX = "complex"  # nor this


@dataclass(frozen=True)
class Kind:
    """``name`` is one of the above.

    Args:
        of: what its elements are.
        dtype: of an array, as Triton calls it (``FP32``), :data:`TEXTS` or :data:`COMPLEX`; "" when it is not known.
    """

    name: str
    of: "Kind | None" = None
    dtype: str = ""


Known: TypeAlias = Kind | None
_LIST_OF_TENSORS = Kind(LIST, Kind(TENSOR))

# python_backend, branches r22.07 to r26.07: src/pb_stub.cc. Methods, and what they give.
METHODS: dict[str, dict[str, Known]] = {
    REQUEST: {
        **dict.fromkeys(("set_flags", "trace", "set_release_flags", "correlation_id", "async_exec")),
        "inputs": _LIST_OF_TENSORS,
        "request_id": Kind(TEXT),
        "parameters": Kind(TEXT),
        "flags": Kind(NUMBER),
        "timeout": Kind(NUMBER),
        "is_cancelled": Kind(NUMBER),
        "requested_output_names": None,
        "exec": Kind(RESPONSE),
        "get_response_sender": Kind(SENDER),
    },
    TENSOR: {
        **dict.fromkeys(("triton_dtype", "to_dlpack", "from_dlpack", "is_cpu")),
        "name": Kind(TEXT),
        "as_numpy": Kind(ARRAY),
        "shape": Kind(LIST, Kind(NUMBER)),
    },
    RESPONSE: {
        "output_tensors": _LIST_OF_TENSORS,
        "has_error": Kind(NUMBER),
        "error": Kind(ERROR),
        "parameters": Kind(TEXT),
    },
    SENDER: {"send": Kind(NONE), "is_cancelled": Kind(NUMBER)},
    ERROR: {"message": Kind(TEXT), "code": None},
}
CODES = frozenset(
    ("UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED")
)
# What people write for them.
USUAL: dict[str, dict[str, str]] = {
    TENSOR: {
        **dict.fromkeys(("numpy", "to_numpy", "asnumpy", "get_numpy", "as_array", "data", "tolist"), "as_numpy()"),
        **dict.fromkeys(("dtype", "datatype", "data_type"), "as_numpy().dtype"),
        **dict.fromkeys(("size", "ndim", "T", "astype", "reshape", "flatten", "squeeze", "item"), "as_numpy().{}"),
        **dict.fromkeys(("dims", "get_shape"), "shape()"),
    },
    REQUEST: {
        **dict.fromkeys(("input_tensors", "get_inputs", "input"), "inputs()"),
        **dict.fromkeys(("get_input", "get_input_tensor", "get_input_tensor_by_name"),
                        "pb_utils.get_input_tensor_by_name(request, name)"),
        **dict.fromkeys(("id", "get_request_id"), "request_id()"),
        **dict.fromkeys(("response_sender", "get_sender"), "get_response_sender()"),
        **dict.fromkeys(("execute", "infer"), "exec()"),
    },
    RESPONSE: {
        **dict.fromkeys(("outputs", "tensors", "get_outputs"), "output_tensors()"),
        **dict.fromkeys(("get_output", "as_numpy", "get_output_tensor_by_name"),
                        "pb_utils.get_output_tensor_by_name(response, name)"),
    },
    SENDER: dict.fromkeys(("close", "finish", "complete", "end"),
                          "send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"),
}  # fmt: skip
# python_backend r24.10 src/python_be.cc: all of them are texts.
ARGUMENTS = frozenset(
    {"model_config", "model_instance_kind", "model_instance_name", "model_instance_device_id", "model_repository"}
    | {"model_version", "model_name"}
)
FUNCTIONS: dict[str, Kind] = {
    "get_input_tensor_by_name": Kind(TENSOR),
    "get_output_tensor_by_name": Kind(TENSOR),
    "Tensor": Kind(TENSOR),
    "Tensor.from_dlpack": Kind(TENSOR),
    "InferenceRequest": Kind(REQUEST),
    "InferenceResponse": Kind(RESPONSE),
    "TritonError": Kind(ERROR),
    "get_input_config_by_name": Kind(IO),
    "get_output_config_by_name": Kind(IO),
}
LITERALS: dict[type, str] = {
    ast.Tuple: TUPLE, ast.Dict: DICT, ast.DictComp: DICT, ast.Set: SET, ast.SetComp: SET, ast.GeneratorExp: GENERATOR,
    ast.JoinedStr: TEXT,
}  # fmt: skip
BUILTINS: dict[str, str] = {
    **dict.fromkeys(("list", "sorted"), LIST),
    **dict.fromkeys(("map", "filter", "zip", "iter", "reversed", "enumerate"), GENERATOR),
    **dict.fromkeys(("len", "int", "float", "bool", "isinstance", "id"), NUMBER),
    **dict.fromkeys(("str", "repr"), TEXT),
    "tuple": TUPLE, "dict": DICT, "set": SET, "bytes": BYTES,
}  # fmt: skip
# The attributes of numpy's arrays, of numpy 1 and 2.
_OF_ARRAYS = (
    "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj "
    "conjugate copy ctypes cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat "
    "flatten getfield imag item itemset itemsize mT max mean min nbytes ndim newbyteorder nonzero "
    "partition prod ptp put ravel real repeat reshape resize round searchsorted setfield setflags shape "
    "size sort squeeze std strides sum swapaxes take to_device tobytes tofile tolist tostring trace "
    "transpose var view"
)
OF_ARRAYS = frozenset(_OF_ARRAYS.split())
