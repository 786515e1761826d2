"""Types of ``triton_python_backend_utils``, which exists only in the stub of Triton's Python backend.

Source: python_backend, triton_python_backend_utils.py and src/pb_stub.cc, branches r22.07 to r26.07. What came later
says when. ``X | Any`` stands for an X, or for None where the docstring says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, Literal, NoReturn, overload, type_check_only

from numpy.typing import NDArray

_Tensors = list[Tensor] | tuple[Tensor, ...]
_Names = list[str] | tuple[str, ...]

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START: Final = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END: Final = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL: Final = 1
TRITONSERVER_REQUEST_RELEASE_ALL: Final = 1  # since 23.11
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE: Final = 2  # since 23.11
TRITONSERVER_MEMORY_GPU: _MemoryType  # since 23.04
TRITONSERVER_MEMORY_CPU: _MemoryType  # since 23.04
TRITON_STRING_TO_NUMPY: dict[str, type[Any]]

@type_check_only
class _MemoryType: ...

@type_check_only
class _ErrorCode: ...

@type_check_only
class _MetricKind: ...

class Tensor:
    """A tensor, of which a step may change the array. DLPack's two methods since 23.05, ``shape`` since 22.08."""

    def __init__(self, name: str, array: NDArray[Any], /) -> None:
        """Strings are bytes or str in an array of objects. Raises TritonModelException for an empty name, and for a
        type that Triton does not have, such as numpy's str."""
    def name(self) -> str: ...
    def as_numpy(self) -> NDArray[Any]:
        """The array, with the batch axis unless max_batch_size is 0; the strings of an input are bytes."""
    def shape(self) -> list[int]: ...
    def triton_dtype(self) -> NoReturn:
        """Raises TypeError in all releases: use ``as_numpy().dtype``."""
    def is_cpu(self) -> bool: ...
    def to_dlpack(self) -> Any: ...
    @staticmethod
    def from_dlpack(name: str, tensor: Any, /) -> Tensor: ...
    def __dlpack__(self, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class TritonError:
    """The error of a response, which is no exception. Its code is INTERNAL by default, and the only one before 23.09;
    CANCELLED since 23.10."""

    UNKNOWN: ClassVar[_ErrorCode]
    INTERNAL: ClassVar[_ErrorCode]
    NOT_FOUND: ClassVar[_ErrorCode]
    INVALID_ARG: ClassVar[_ErrorCode]
    UNAVAILABLE: ClassVar[_ErrorCode]
    UNSUPPORTED: ClassVar[_ErrorCode]
    ALREADY_EXISTS: ClassVar[_ErrorCode]
    CANCELLED: ClassVar[_ErrorCode]
    def __init__(self, message: str, code: _ErrorCode = ...) -> None: ...
    def code(self) -> _ErrorCode: ...
    def message(self) -> str: ...

class TritonModelException(Exception): ...

class InferenceResponse:
    """Tensors, or an error without them; ``parameters``, JSON once they are read, since 25.02."""

    def __init__(
        self, output_tensors: _Tensors = ..., error: TritonError | None = None, parameters: Any = None
    ) -> None: ...
    def output_tensors(self) -> list[Tensor]: ...
    def has_error(self) -> bool: ...
    def error(self) -> TritonError | Any:
        """None without an error."""
    def parameters(self) -> str: ...

@type_check_only
class _ResponseSender:
    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        """Send a response. Each request must be sent the flags TRITONSERVER_RESPONSE_COMPLETE_FINAL once, with its last
        response or alone, or its client waits for ever. Raises TritonModelException after that."""
    def is_cancelled(self) -> bool:
        """Since 23.10."""

@type_check_only
class _ResponseIterator(Iterator[InferenceResponse]):
    def __next__(self) -> InferenceResponse: ...
    def cancel(self) -> None:
        """Since 25.04."""

class PreferredMemory:
    """Since 23.04."""

    def __init__(self, preferred_memory_type: _MemoryType, preferred_device_id: int = 0) -> None: ...

@type_check_only
class _InferenceTrace:
    def get_context(self) -> str | Any:
        """None if the request is not traced."""

class InferenceRequest:
    """A request that execute gets, or one to another model (Business Logic Scripting). ``parameters`` and ``timeout``,
    in microseconds, since 23.03; ``is_cancelled`` since 23.10, ``set_release_flags`` since 23.11, ``trace`` since
    24.03."""

    @overload
    def __init__(
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        *,
        inputs: _Tensors,
        requested_output_names: _Names,
        model_name: str,
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: PreferredMemory = ...,
        trace: _InferenceTrace = ...,
        parameters: dict[str, Any] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self, request_id: str, correlation_id: int | str, inputs: _Tensors, *more: Any, **named: Any
    ) -> None: ...
    def inputs(self) -> list[Tensor]: ...
    def request_id(self) -> str: ...
    def correlation_id(self) -> int | str: ...
    def requested_output_names(self) -> set[str]: ...
    def parameters(self) -> str:
        """JSON, "{}" without parameters."""
    def flags(self) -> int: ...
    def set_flags(self, flags: int, /) -> None: ...
    def timeout(self) -> int: ...
    def trace(self) -> _InferenceTrace: ...
    def is_cancelled(self) -> bool: ...
    def set_release_flags(self, flags: int, /) -> None: ...
    def get_response_sender(self) -> _ResponseSender:
        """Of a decoupled model; of others since 24.06."""
    @overload
    def exec(self, decoupled: Literal[False] = False) -> InferenceResponse:
        """The answer of the model, which may be an error. Raises TritonModelException outside of execute."""
    @overload
    def exec(self, decoupled: Literal[True]) -> _ResponseIterator:
        """The answers, also of a decoupled model. Since 23.03."""
    @overload
    async def async_exec(self, decoupled: Literal[False] = False) -> InferenceResponse:
        """The same as a future of the running loop, to be awaited."""
    @overload
    async def async_exec(self, decoupled: Literal[True]) -> _ResponseIterator: ...

class Logger:
    """Since 22.09."""

    class LogLevel: ...

    INFO: ClassVar[LogLevel]
    WARNING: ClassVar[LogLevel]
    ERROR: ClassVar[LogLevel]
    VERBOSE: ClassVar[LogLevel]
    @staticmethod
    def log(message: str, level: LogLevel = ...) -> None: ...
    @staticmethod
    def log_info(message: str) -> None: ...
    @staticmethod
    def log_warn(message: str) -> None: ...
    @staticmethod
    def log_error(message: str) -> None: ...
    @staticmethod
    def log_verbose(message: str) -> None: ...

@type_check_only
class _Metric:
    """``set`` is of gauges, ``observe`` of histograms, which have no ``value`` and no ``increment``."""

    def increment(self, value: float, /) -> None: ...
    def set(self, value: float, /) -> None: ...
    def observe(self, value: float, /) -> None: ...
    def value(self) -> float: ...

class MetricFamily:
    """Since 23.05; histograms, which need ``buckets``, since 24.08. It must live longer than its metrics."""

    COUNTER: ClassVar[_MetricKind]
    GAUGE: ClassVar[_MetricKind]
    HISTOGRAM: ClassVar[_MetricKind]
    def __init__(self, name: str, description: str, kind: _MetricKind) -> None: ...
    def Metric(self, labels: dict[str, str] | None = None, buckets: list[float] | None = None) -> _Metric: ...

class ModelConfig:
    """What ``auto_complete_config`` gets and returns. The methods raise ValueError for what contradicts it; the last
    since 23.11."""

    def __init__(self, model_config: str) -> None: ...
    def as_dict(self) -> dict[str, Any]: ...
    def set_max_batch_size(self, max_batch_size: int) -> None: ...
    def set_dynamic_batching(self) -> None: ...
    def add_input(self, input: dict[str, Any]) -> None: ...
    def add_output(self, output: dict[str, Any]) -> None: ...
    def set_model_transaction_policy(self, transaction_policy_dict: dict[str, bool]) -> None: ...

def get_input_tensor_by_name(inference_request: InferenceRequest, name: str) -> Tensor | Any:
    """None for an optional input that the request does not have, and for a name that the config does not have."""

def get_output_tensor_by_name(inference_response: InferenceResponse, name: str) -> Tensor | Any:
    """None for an output that the response does not have, as when it is an error."""

def get_input_config_by_name(model_config: dict[str, Any], name: str) -> dict[str, Any] | Any:
    """None for a name that the config does not have."""

def get_output_config_by_name(model_config: dict[str, Any], name: str) -> dict[str, Any] | Any:
    """None for a name that the config does not have."""

def using_decoupled_model_transaction_policy(model_config: dict[str, Any]) -> bool: ...
def triton_string_to_numpy(triton_type_string: str) -> type[Any]:
    """The type of "TYPE_FP32", as configs have it. Raises KeyError."""

def triton_to_numpy_type(data_type: int) -> type[Any] | Any:
    """The type of a number in model_config.proto; None for another number."""

def numpy_to_triton_type(data_type: Any) -> int | Any:
    """The number of a type in model_config.proto; None for a type that Triton does not have."""

def serialize_byte_tensor(input_tensor: NDArray[Any]) -> Any: ...
def deserialize_bytes_tensor(encoded_tensor: bytes | NDArray[Any]) -> NDArray[Any]: ...
def get_model_dir() -> str:
    """Since 23.07."""

def load_model(model_name: str, config: str = "", files: Mapping[str, bytes] | None = None) -> None:
    """Since 23.07; only with --model-control-mode=explicit."""

def unload_model(model_name: str, unload_dependents: bool = False) -> None:
    """Since 23.07; only with --model-control-mode=explicit."""

def is_model_ready(model_name: str, model_version: str = "") -> bool:
    """Since 23.07."""
