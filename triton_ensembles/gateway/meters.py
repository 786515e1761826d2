"""The gateway's own metrics for Prometheus, by model and version."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.table import Model

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
_LABELS = ("model", "version")


class Meters:
    """Counts requests by status, measures how long they take, and how many are under way."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        to = self._registry
        self._requests = Counter("gateway_requests", "Requests answered.", (*_LABELS, "status"), registry=to)
        self._seconds = Histogram("gateway_request_seconds", "Time to answer.", _LABELS, registry=to, buckets=_BUCKETS)
        self._running = Gauge("gateway_requests_running", "Requests under way.", _LABELS, registry=to)

    @contextmanager
    def measure(self, model: Model) -> Iterator[None]:
        """One request for the model, from here to the end of the block."""
        labels, began, status = (model.name, model.version), time.perf_counter(), 500
        self._running.labels(*labels).inc()
        try:
            yield
            status = 200
        except Refused as refusal:
            status = refusal.status
            raise
        finally:
            self._running.labels(*labels).dec()
            self._seconds.labels(*labels).observe(time.perf_counter() - began)
            self._requests.labels(*labels, status).inc()

    def refused(self, status: int) -> None:
        """A request that names no model of the table."""
        self._requests.labels("", "", status).inc()

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
