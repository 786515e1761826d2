"""Log lines and custom metrics of the steps: only the stub can talk with the server, so the worker asks the stub.

``Answers`` serves a worker in a thread of the stub; steps get the other classes in place of those of ``pb_utils``.
"""

import contextlib
import pickle
import threading
from functools import partial
from typing import Any

import triton_python_backend_utils as pb_utils

from triton_ensembles.runtime.fused.channel import Receiver, Sender


class _Stub:
    """The worker's end of the connection; one caller at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: Sender
        self._replies: Receiver

    def connect(self, calls: Sender, replies: Receiver) -> None:
        self._calls, self._replies = calls, replies

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of :class:`Answers` in the stub. Raises TypeError for arguments that pybind11 refuses, such as
        a text that is no UTF-8, and TritonModelException with whatever else that raised."""
        with self._lock:
            self._calls.send(pickle.dumps((method, arguments)))  # numbers may be numpy's
            error, value, wrong_type = pickle.loads(self._replies.receive()[0])
        if error:
            raise (TypeError if wrong_type else pb_utils.TritonModelException)(error)
        return value


STUB = _Stub()
FamilyKey = tuple[str, str, str]
MetricKey = tuple[FamilyKey, tuple[tuple[str, str], ...] | None, tuple[float, ...] | None]


class Answers:
    """Does in the stub what the worker asks for. Metrics stay from one worker to the next. Triton 24.10 crashes when a
    family ends before its metrics, or while another instance makes the same metric."""

    def __init__(self) -> None:
        self._families: dict[FamilyKey, Any] = {}
        self._metrics: dict[MetricKey, Any] = {}

    def serve(self, calls: Receiver, replies: Sender) -> None:
        """Answer a worker until it ends; then close the channels."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                method, arguments = pickle.loads(calls.receive()[0])
                try:
                    reply = ("", getattr(self, method)(*arguments), False)
                except Exception as error:
                    reply = (str(error) or type(error).__name__, None, isinstance(error, TypeError))
                replies.send(pickle.dumps(reply))
        calls.close()
        replies.close()

    def close(self) -> None:
        self._metrics.clear()
        self._families.clear()

    def log(self, level: str, message: str) -> None:
        getattr(pb_utils.Logger, level)(message)

    def make_family(self, key: FamilyKey) -> None:
        if key not in self._families:
            name, description, kind = key
            self._families[key] = pb_utils.MetricFamily(name, description, getattr(pb_utils.MetricFamily, kind))

    def make_metric(self, key: MetricKey) -> None:
        if key not in self._metrics:
            family, labels, buckets = key
            further = {} if buckets is None else {"buckets": list(buckets)}
            self._metrics[key] = self._families[family].Metric(labels=dict(labels or ()) or None, **further)

    def measure(self, key: MetricKey, method: str, *arguments: float) -> Any:
        return getattr(self._metrics[key], method)(*arguments)


class Logger:
    """``pb_utils.Logger`` of the stub."""

    INFO, WARNING, ERROR, VERBOSE = "log_info", "log_warn", "log_error", "log_verbose"

    @staticmethod
    def log(message: str, level: str = INFO) -> None:
        if not isinstance(message, str):
            wrong = f"{level}(): incompatible function arguments. The following argument types are supported:"
            raise TypeError(f"{wrong}\n    1. (message: str) -> None\n\nInvoked with: {message!r}")
        STUB.call("log", level, message)

    log_info = staticmethod(partial(log, level=INFO))
    log_warn = staticmethod(partial(log, level=WARNING))
    log_error = staticmethod(partial(log, level=ERROR))
    log_verbose = staticmethod(partial(log, level=VERBOSE))


class Metric:
    """``pb_utils.Metric`` of the stub."""

    def __init__(self, family: FamilyKey, labels: dict[str, str] | None, buckets: list[float] | None) -> None:
        ordered = None if labels is None else tuple(labels.items())
        self._key = (family, ordered, None if buckets is None else tuple(buckets))
        STUB.call("make_metric", self._key)

    def increment(self, value: float) -> None:
        STUB.call("measure", self._key, "increment", value)

    def set(self, value: float) -> None:
        STUB.call("measure", self._key, "set", value)

    def observe(self, value: float) -> None:
        STUB.call("measure", self._key, "observe", value)

    def value(self) -> float:
        value: float = STUB.call("measure", self._key, "value")
        return value


class MetricFamily:
    """``pb_utils.MetricFamily`` of the stub."""

    COUNTER, GAUGE, HISTOGRAM = "COUNTER", "GAUGE", "HISTOGRAM"

    def __init__(self, name: str, description: str, kind: str) -> None:
        self._key = (name, description, kind)
        STUB.call("make_family", self._key)

    def Metric(self, labels: dict[str, str] | None = None, buckets: list[float] | None = None) -> Metric:  # noqa: N802
        return Metric(self._key, labels, buckets)
