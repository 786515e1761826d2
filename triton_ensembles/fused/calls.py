"""Log lines and custom metrics of the steps: only the stub can talk with the server, so the worker asks the stub.

``Answers`` works in a thread of the stub; the classes are what steps get in place of those of ``pb_utils``.
"""

import itertools
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import triton_python_backend_utils as pb_utils


class _Stub:
    """The worker's end of the connection; one caller at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def connect(self, connection: Connection) -> None:
        self._connection = connection

    def call(self, target: int | str, method: str, *arguments: Any, keep: int | None = None) -> Any:
        """Call a method of an object of ``pb_utils``, or of one that an earlier call made and kept.

        Raises:
            TritonModelException: what the call raised.
        """
        assert self._connection is not None
        with self._lock:
            self._connection.send((target, method, arguments, keep))
            error, value = self._connection.recv()
        if error:
            raise pb_utils.TritonModelException(error)
        return value


STUB = _Stub()
_numbers = itertools.count()


class Answers:
    """The stub's end, which answers one worker after another.

    Metrics are kept until ``close``, also those of a worker that died: Triton 24.10 has one metric for equal labels,
    deletes it with the first owner that goes, and dies when another owner, such as a second instance, uses it.
    """

    def __init__(self) -> None:
        self._families: dict[tuple[str, str, str], Any] = {}
        self._metrics: list[Any] = []

    def answer(self, connection: Connection) -> None:
        """Answer a worker until it ends."""
        known: dict[int | str, Any] = {"Logger": pb_utils.Logger, "pb_utils": self}
        while True:
            try:
                target, method, arguments, keep = connection.recv()
            except (EOFError, OSError):
                return
            try:
                value = getattr(known[target], method)(*arguments)
                if keep is not None:
                    self._metrics.append(value)
                    known[keep], value = value, None
                reply = ("", value)
            except Exception as error:
                reply = (str(error) or type(error).__name__, None)
            try:
                connection.send(reply)
            except OSError:
                return

    def family(self, name: str, description: str, kind: str) -> Any:
        """The family of a kind that is given by its name; the same one for all workers."""
        key = (name, description, kind)
        if key not in self._families:
            self._families[key] = pb_utils.MetricFamily(name, description, getattr(pb_utils.MetricFamily, kind))
        return self._families[key]

    def close(self) -> None:
        """Delete the metrics."""
        self._metrics.clear()
        self._families.clear()


class Logger:
    """``pb_utils.Logger`` of the stub."""

    INFO, WARNING, ERROR, VERBOSE = "log_info", "log_warn", "log_error", "log_verbose"

    @staticmethod
    def log(message: str, level: str = INFO) -> None:
        STUB.call("Logger", level, str(message))

    @staticmethod
    def log_info(message: str) -> None:
        Logger.log(message)

    @staticmethod
    def log_warn(message: str) -> None:
        Logger.log(message, Logger.WARNING)

    @staticmethod
    def log_error(message: str) -> None:
        Logger.log(message, Logger.ERROR)

    @staticmethod
    def log_verbose(message: str) -> None:
        Logger.log(message, Logger.VERBOSE)


class Metric:
    """``pb_utils.Metric`` of the stub."""

    def __init__(self, family: int, labels: dict[str, str] | None, buckets: list[float] | None) -> None:
        self._number = next(_numbers)
        further = () if buckets is None else (buckets,)
        STUB.call(family, "Metric", labels, *further, keep=self._number)

    def increment(self, value: float) -> None:
        STUB.call(self._number, "increment", value)

    def set(self, value: float) -> None:
        STUB.call(self._number, "set", value)

    def observe(self, value: float) -> None:
        STUB.call(self._number, "observe", value)

    def value(self) -> float:
        found: float = STUB.call(self._number, "value")
        return found


class MetricFamily:
    """``pb_utils.MetricFamily`` of the stub."""

    COUNTER, GAUGE, HISTOGRAM = "COUNTER", "GAUGE", "HISTOGRAM"

    def __init__(self, name: str, description: str, kind: str) -> None:
        self._number = next(_numbers)
        STUB.call("pb_utils", "family", name, description, kind, keep=self._number)

    def Metric(self, labels: dict[str, str] | None = None, buckets: list[float] | None = None) -> Metric:  # noqa: N802
        return Metric(self._number, labels, buckets)


def refuse(reason: str) -> Callable[..., NoReturn]:
    """A function that only raises."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise pb_utils.TritonModelException(reason)

    return refused
