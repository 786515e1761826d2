"""The gateway's own metrics for Prometheus, by model and version."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from triton_ensembles.host.gateway.models_toml import Model, Table
from triton_ensembles.host.refusal import Refused
from triton_ensembles.hosting.request_body import BodyTooLarge

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
_LABELS = ("model", "version")
_CLIENT_GONE = 499  # nobody sees this status but the metrics; nginx gave it this number


class Metrics:
    """Counts requests by status, measures how long they take, and how many are under way."""

    def __init__(self, table: Table, registry: CollectorRegistry) -> None:
        self._requests = Counter("gateway_requests", "Requests answered.", (*_LABELS, "status"), registry=registry)
        self._seconds = Histogram(
            "gateway_request_seconds", "Time to answer.", _LABELS, registry=registry, buckets=_BUCKETS
        )
        self._running = Gauge("gateway_requests_running", "Requests under way.", _LABELS, registry=registry)
        for model in table.models:  # so that those without a request are in the text also
            self._running.labels(model.name, model.version)
            self._seconds.labels(model.name, model.version)
            self._requests.labels(model.name, model.version, 200)

    @contextmanager
    def measure(self, model: Model) -> Iterator[None]:
        """Count a request for the model, from here to the end of the block."""
        labels = model.name, model.version
        status, began = 200, time.perf_counter()
        self._running.labels(*labels).inc()
        try:
            yield
        except BaseException as error:
            status = _status_of(error)
            raise
        finally:
            self._running.labels(*labels).dec()
            self._seconds.labels(*labels).observe(time.perf_counter() - began)
            self._requests.labels(*labels, status).inc()

    def count_failure(self, error: BaseException) -> None:
        """Count a request that ended in an error before its model was known."""
        self._requests.labels("", "", _status_of(error)).inc()


def _status_of(error: BaseException) -> int:
    if isinstance(error, Refused):
        return error.status
    if isinstance(error, BodyTooLarge):
        return 413
    return _CLIENT_GONE if isinstance(error, asyncio.CancelledError | ConnectionError) else 500
