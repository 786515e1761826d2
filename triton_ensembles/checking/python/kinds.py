"""The kinds of values in model.py: Triton's own objects, arrays, texts … Only what is certain has a kind."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A kind of value, as a sentence says it."""

    # Triton's objects.
    REQUEST = "an InferenceRequest"
    TENSOR = "a pb_utils.Tensor"
    RESPONSE = "an InferenceResponse"
    SENDER = "a response sender"
    ERROR = "a TritonError"
    # What initialize gets, and what is in it.
    ARGS = "the arguments of initialize"
    CONFIG = "the model's config"
    IO = "the config of a tensor"
    PARAMETERS = "the parameters of the config"
    PARAMETER = "a parameter of the config"
    # What Python and its packages have.
    ARRAY = "a numpy array"
    SCALAR = "a single number"
    FRAMEWORK = "a tensor of another framework"
    IMAGE = "an image of PIL"
    LIST = "a list"
    TUPLE = "a tuple"
    DICT = "a dictionary"
    SET = "a set"
    GENERATOR = "a generator"
    TEXT = "a text"
    BYTES = "bytes"
    NUMBER = "a number"
    NONE = "None"
    COROUTINE = "a coroutine that nobody awaits"
    METHOD = "a method that is not called"


DICTIONARIES = frozenset({Kind.ARGS, Kind.CONFIG, Kind.IO, Kind.PARAMETERS, Kind.PARAMETER})
TEXTS = "str"  # the dtype of arrays of Python's texts, which Triton does not take
COMPLEX = "complex"  # nor this


@dataclass(frozen=True)
class Type:
    """A kind, and more where it is known.

    Args:
        element: the type of the elements; of a text, what it has as JSON.
        dtype: of an array, as Triton calls it (``FP32``), :data:`TEXTS` or :data:`COMPLEX`; "" when it is not known.
    """

    kind: Kind
    element: "Type | None" = None
    dtype: str = ""


_LIST_OF_TENSORS = Type(Kind.LIST, Type(Kind.TENSOR))

# python_backend, branches STUB_BRANCHES: src/pb_stub.cc. Methods, and what they give.
METHODS: dict[Kind, dict[str, Type | None]] = {
    Kind.REQUEST: {
        **dict.fromkeys(("set_flags", "trace", "set_release_flags", "correlation_id", "async_exec")),
        "requested_output_names": None,
        "inputs": _LIST_OF_TENSORS,
        **dict.fromkeys(("request_id", "parameters"), Type(Kind.TEXT)),
        **dict.fromkeys(("flags", "timeout", "is_cancelled"), Type(Kind.NUMBER)),
        "exec": Type(Kind.RESPONSE),
        "get_response_sender": Type(Kind.SENDER),
    },
    Kind.TENSOR: {
        **dict.fromkeys(("triton_dtype", "to_dlpack", "from_dlpack", "is_cpu")),
        "name": Type(Kind.TEXT),
        "as_numpy": Type(Kind.ARRAY),
        "shape": Type(Kind.LIST, Type(Kind.NUMBER)),
    },
    Kind.RESPONSE: {
        "output_tensors": _LIST_OF_TENSORS,
        "has_error": Type(Kind.NUMBER),
        "error": Type(Kind.ERROR),
        "parameters": Type(Kind.TEXT),
    },
    Kind.SENDER: {"send": Type(Kind.NONE), "is_cancelled": Type(Kind.NUMBER)},
    Kind.ERROR: {"message": Type(Kind.TEXT), "code": None},
}
CODES = frozenset(
    ("UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED")
)
# What people write for them.
USUAL: dict[Kind, dict[str, str]] = {
    Kind.TENSOR: {
        **dict.fromkeys(("numpy", "to_numpy", "asnumpy", "get_numpy", "as_array", "data", "tolist"), "as_numpy()"),
        **dict.fromkeys(("dtype", "datatype", "data_type"), "as_numpy().dtype"),
        **dict.fromkeys(("size", "ndim", "T", "astype", "reshape", "flatten", "squeeze", "item"), "as_numpy().{}"),
        **dict.fromkeys(("dims", "get_shape"), "shape()"),
    },
    Kind.REQUEST: {
        **dict.fromkeys(("input_tensors", "get_inputs", "input"), "inputs()"),
        **dict.fromkeys(("get_input", "get_input_tensor", "get_input_tensor_by_name"),
                        "pb_utils.get_input_tensor_by_name(request, name)"),
        **dict.fromkeys(("id", "get_request_id"), "request_id()"),
        **dict.fromkeys(("response_sender", "get_sender"), "get_response_sender()"),
        **dict.fromkeys(("execute", "infer"), "exec()"),
    },
    Kind.RESPONSE: {
        **dict.fromkeys(("outputs", "tensors", "get_outputs"), "output_tensors()"),
        **dict.fromkeys(("get_output", "as_numpy", "get_output_tensor_by_name"),
                        "pb_utils.get_output_tensor_by_name(response, name)"),
    },
    Kind.SENDER: dict.fromkeys(("close", "finish", "complete", "end"),
                          "send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"),
}  # fmt: skip
# python_backend r24.10 src/python_be.cc: all of them are texts.
ARGUMENTS = frozenset(
    {"model_config", "model_instance_kind", "model_instance_name", "model_instance_device_id", "model_repository"}
    | {"model_version", "model_name"}
)
FUNCTIONS: dict[str, Type] = {
    **dict.fromkeys(("get_input_tensor_by_name", "get_output_tensor_by_name"), Type(Kind.TENSOR)),
    **dict.fromkeys(("Tensor", "Tensor.from_dlpack"), Type(Kind.TENSOR)),
    "InferenceRequest": Type(Kind.REQUEST),
    "InferenceResponse": Type(Kind.RESPONSE),
    "TritonError": Type(Kind.ERROR),
    **dict.fromkeys(("get_input_config_by_name", "get_output_config_by_name"), Type(Kind.IO)),
}
BUILTINS: dict[str, Kind] = {
    **dict.fromkeys(("list", "sorted"), Kind.LIST),
    **dict.fromkeys(("map", "filter", "zip", "iter", "reversed", "enumerate"), Kind.GENERATOR),
    **dict.fromkeys(("len", "int", "float", "bool", "isinstance", "id"), Kind.NUMBER),
    **dict.fromkeys(("str", "repr"), Kind.TEXT),
    "tuple": Kind.TUPLE, "dict": Kind.DICT, "set": Kind.SET, "bytes": Kind.BYTES,
}  # fmt: skip
# The attributes of numpy's arrays, of numpy 1 and 2.
_OF_ARRAYS = (
    "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj conjugate copy ctypes "
    "cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat flatten getfield imag item itemset "
    "itemsize mT max mean min nbytes ndim newbyteorder nonzero partition prod ptp put ravel real repeat reshape resize "
    "round searchsorted setfield setflags shape size sort squeeze std strides sum swapaxes take to_device tobytes "
    "tofile tolist tostring trace transpose var view"
)
OF_ARRAYS = frozenset(_OF_ARRAYS.split())
