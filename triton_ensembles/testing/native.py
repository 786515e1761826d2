"""Names that Triton's stub adds to ``triton_python_backend_utils`` in C++, as Python: the stub package documents them.

Source: python_backend r24.10, pb_stub.cc, pb_tensor.cc, infer_request.cc, response_sender.cc, metric.cc; pybind11 2.10.
"""

import functools
import inspect
import json
import logging
from collections.abc import Callable
from enum import Enum, IntEnum
from threading import Event, Lock
from types import UnionType
from typing import Any, Self, TypeVar, cast, get_args

import numpy as np

Method = TypeVar("Method", bound=Callable[..., Any])
_FINAL = 1  # TRITONSERVER_RESPONSE_COMPLETE_FINAL
_NUMBERS = [np.dtype(name) for name in ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8")]
_LOG = logging.getLogger("tritonserver")
_LOG.addHandler(logging.NullHandler())  # else errors also go to stderr


class TritonModelException(Exception):
    pass


def _fits(value: Any, kind: Any) -> bool:
    """Return whether pybind11 takes a value for an argument of this type."""
    if isinstance(kind, UnionType):
        return any(_fits(value, part) for part in get_args(kind))
    if parts := get_args(kind):
        return isinstance(value, list | tuple) and all(_fits(each, parts[0]) for each in value)
    if kind is str and isinstance(value, str):
        return not any("\ud800" <= letter <= "\udfff" for letter in value)
    return kind in (Any, inspect.Parameter.empty) or isinstance(value, kind)


def _native(signature: str) -> Callable[[Method], Method]:
    """Refuse arguments that do not fit a method's annotations, in the words of pybind11, which have this signature."""

    def decorated(method: Method) -> Method:
        expected = inspect.signature(method)
        kinds = {name: parameter.annotation for name, parameter in expected.parameters.items()}

        def fit(arguments: Any, named: Any) -> bool:
            try:
                given = expected.bind(*arguments, **named).arguments
            except TypeError:
                return False
            return all(_fits(value, kinds[name]) for name, value in given.items())

        @functools.wraps(method)
        def checked(*arguments: Any, **named: Any) -> Any:
            if fit(arguments, named):
                return method(*arguments, **named)
            shown = [", ".join(map(repr, arguments["self" in kinds :]))] if arguments["self" in kinds :] else []
            shown += ["kwargs: " + ", ".join(f"{name}={value!r}" for name, value in named.items())] if named else []
            kind = "constructor" if method.__name__ == "__init__" else "function"
            raise TypeError(
                f"{method.__name__}(): incompatible {kind} arguments. The following argument types are supported:\n"
                f"    1. {signature}\n\nInvoked with: {'; '.join(shown)}"
            )

        return cast(Method, checked)

    return decorated


def _stored(name: str) -> Any:
    """A method that returns an attribute, of lists and sets a copy."""

    def get(self: Any) -> Any:
        value = getattr(self, name)
        return value.copy() if isinstance(value, list | set) else value

    return get


class Tensor:
    name, as_numpy = _stored("_name"), _stored("_array")

    @_native("c_python_backend_utils.Tensor(arg0: str, arg1: numpy.ndarray)")
    def __init__(self, name: str, array: np.ndarray, /) -> None:  # type: ignore[type-arg]
        if not name:
            raise TritonModelException("Tensor name cannot be an empty string.")
        if array.dtype not in _NUMBERS and array.dtype.kind not in "OS":
            raise TritonModelException("NumPy dtype is not supported.")
        self._name, self._array = name, array if array.data.c_contiguous else np.ascontiguousarray(array)
        if array.dtype.hasobject:
            for item in array.ravel():
                item if isinstance(item, bytes) else str(item).encode()  # as they would be sent

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def is_cpu(self) -> bool:
        return True

    def triton_dtype(self) -> Any:
        raise TypeError(
            "Unable to convert function return value to a Python type! The signature was\n"
            "\t(self: c_python_backend_utils.Tensor) -> TRITONSERVER_datatype_enum"
        )

    def __dlpack__(self, stream: Any = None) -> Any:
        if self._array.dtype.kind in "OS":
            raise TritonModelException("DLPack does not have support for string tensors.")
        return self._array.__dlpack__()

    to_dlpack = __dlpack__

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    @classmethod
    def from_dlpack(cls, name: str, tensor: Any) -> Self:
        return cls(name, np.from_dlpack(tensor))


class _ErrorCode(IntEnum):
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)


class TritonError:
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = _ErrorCode
    message, code = _stored("_message"), _stored("_code")

    @_native(
        "c_python_backend_utils.TritonError(message: str, "
        "code: c_python_backend_utils.TritonError.__ErrorCode = <__ErrorCode.INTERNAL: 1>)"
    )
    def __init__(self, message: str, code: _ErrorCode = _ErrorCode.INTERNAL) -> None:
        self._message, self._code = message, code


class InferenceResponse:
    output_tensors, error = _stored("_tensors"), _stored("_error")

    @_native(
        "c_python_backend_utils.InferenceResponse(output_tensors: List[c_python_backend_utils.Tensor] = [], "
        "error: c_python_backend_utils.TritonError = None)"
    )
    def __init__(self, output_tensors: list[Tensor | None] = [], error: TritonError | None = None) -> None:  # noqa: B006
        if None in output_tensors:
            raise TritonModelException("Output tensor for inference response should not be empty.")
        self._tensors, self._error = list(output_tensors), error

    def has_error(self) -> bool:
        return self._error is not None


class PreferredMemory:
    def __init__(self, preferred_memory_type: Any, preferred_device_id: int = 0) -> None: ...


class InferenceTrace:
    def get_context(self) -> None: ...


class InferenceRequest:
    """Holds a request; :mod:`triton_ensembles.runtime.fused.step_request` sends it to a model."""

    inputs, requested_output_names, parameters = _stored("_inputs"), _stored("_names"), _stored("_parameters")
    request_id, correlation_id = _stored("_id"), _stored("_correlation_id")
    flags, timeout, trace = _stored("_flags"), _stored("_timeout"), _stored("_trace")

    def __init__(
        self,
        request_id: str = "",
        correlation_id: int | str = 0,
        inputs: Any = None,
        requested_output_names: Any = None,
        model_name: str = "",
        model_version: int = -1,
        flags: int = 0,
        timeout: int = 0,
        preferred_memory: Any = None,
        trace: InferenceTrace = InferenceTrace(),  # noqa: B008
        parameters: dict[str, Any] | None = None,
    ) -> None:
        if not (_fits(inputs, list[Tensor | None]) and _fits(requested_output_names, list[str]) and model_name):
            raise TypeError("__init__(): incompatible constructor arguments of InferenceRequest")
        for key, value in (parameters or {}).items():
            if not isinstance(key, str):
                raise TritonModelException(f"Expect parameters keys to have type str, found type {type(key)}")
            if not isinstance(value, bool | int | str):
                expected = "Expect parameters values to have type bool/int/str"
                raise TritonModelException(f"{expected}, found type {type(value)}")
        if not isinstance(correlation_id, int | str):
            raise TritonModelException("Correlation ID must be integer or string")
        for subject, values in (("Input tensor", inputs), ("Requested output name", requested_output_names)):
            if None in values or "" in values:
                whose = f"with id '{request_id}' and model name '{model_name}'"
                raise TritonModelException(f"{subject} for request {whose} should not be empty.")
        self._inputs, self._names, self._parameters = (
            list(inputs),
            {*requested_output_names},
            json.dumps(parameters or {}),
        )
        self._id, self._correlation_id, self._flags, self._timeout = request_id, correlation_id, flags, timeout
        self._trace = trace

    def set_flags(self, flags: int, /) -> None:
        self._flags = flags

    def set_release_flags(self, flags: int, /) -> None: ...

    def is_cancelled(self) -> bool:
        return False


class ResponseSender:
    """Keeps what a step sends, in its order."""

    def __init__(self, is_decoupled: bool) -> None:
        self._is_decoupled, self._lock, self.closed = is_decoupled, Lock(), Event()
        self.sent: list[InferenceResponse] = []

    @_native(
        "(self: c_python_backend_utils.InferenceResponseSender, "
        "response: c_python_backend_utils.InferenceResponse = None, flags: int = 0) -> None"
    )
    def send(self, response: InferenceResponse | None = None, flags: int = 0) -> None:
        if flags not in (0, _FINAL):
            raise TritonModelException("Unable to send response. Unsupported flag provided.")
        if flags == 0 and response is None:
            message = "Inference Response object must be provided when the response flags is set to zero."
            raise TritonModelException(message)
        self.take(response, flags)

    def take(self, response: InferenceResponse | None, flags: int = _FINAL) -> None:
        """Keep a response that was sent, or that execute returned."""
        with self._lock:
            refused = "" if not self.closed.is_set() else "Response sender has been closed."
            if not self._is_decoupled and response and self.sent:
                refused = "Non-decoupled model cannot send more than one response."
            if not (self._is_decoupled or response or self.sent):
                refused = "Non-decoupled model cannot send complete final before sending a response."
            if refused:
                raise TritonModelException(f"Unable to send response. {refused}")
            self.sent += [response] if response else []
            if flags == _FINAL:
                self.closed.set()

    def is_cancelled(self) -> bool:
        return False


class _Level(Enum):
    INFO, WARNING, ERROR, VERBOSE = logging.INFO, logging.WARNING, logging.ERROR, logging.DEBUG


def _logging(name: str, level: _Level) -> Any:
    def log(message: str) -> None:
        _LOG.log(level.value, "%s", message)

    log.__name__ = name
    return staticmethod(_native("(message: str) -> None")(log))


class Logger:
    """Writes to the logger ``tritonserver``, whose lines pytest shows of a test that fails."""

    LogLevel = _Level
    INFO, WARNING, ERROR, VERBOSE = _Level
    log_info, log_warn = _logging("log_info", INFO), _logging("log_warn", WARNING)
    log_error, log_verbose = _logging("log_error", ERROR), _logging("log_verbose", VERBOSE)

    @staticmethod
    @_native("(message: str, level: c_python_backend_utils.Logger.LogLevel = <LogLevel.INFO: 0>) -> None")
    def log(message: str, level: _Level = _Level.INFO) -> None:
        _LOG.log(level.value, "%s", message)


class Metric:
    """Counts for this process alone, and refuses nothing."""

    value = _stored("_value")

    def __init__(self) -> None:
        self._value = 0.0

    def increment(self, value: float, /) -> None:
        self._value += value

    def set(self, value: float, /) -> None:
        self._value = float(value)

    observe = increment


class MetricFamily:
    COUNTER, GAUGE, HISTOGRAM = "COUNTER", "GAUGE", "HISTOGRAM"

    def __init__(self, name: str, description: str, kind: str) -> None: ...

    def Metric(self, labels: dict[str, str] | None = None, buckets: list[float] | None = None) -> Metric:  # noqa: N802
        return Metric()
