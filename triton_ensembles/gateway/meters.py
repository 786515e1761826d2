"""The gateway's own metrics for Prometheus, by model and version."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from triton_ensembles.gateway.errors import Refused
from triton_ensembles.gateway.table import Model, Table

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)
_LABELS = ("model", "version")


class Meters:
    """Counts requests by status, measures how long they take, and how many are under way."""

    def __init__(self, table: Table) -> None:
        self._registry = CollectorRegistry()
        to = self._registry
        self._requests = Counter("gateway_requests", "Requests answered.", (*_LABELS, "status"), registry=to)
        seconds = Histogram("gateway_request_seconds", "Time to answer.", _LABELS, registry=to, buckets=_BUCKETS)
        running = Gauge("gateway_requests_running", "Requests under way.", _LABELS, registry=to)
        self._of = {
            model: (
                running.labels(model.name, model.version),
                seconds.labels(model.name, model.version),
                self._requests.labels(model.name, model.version, 200),
            )
            for model in table.models
        }

    @contextmanager
    def measure(self, model: Model) -> Iterator[None]:
        """One request for the model, from here to the end of the block."""
        running, seconds, answered = self._of[model]
        began, counted = time.perf_counter(), answered
        running.inc()
        try:
            yield
        except BaseException as error:
            status = error.status if isinstance(error, Refused) else 500
            counted = self._requests.labels(model.name, model.version, status)
            raise
        finally:
            running.dec()
            seconds.observe(time.perf_counter() - began)
            counted.inc()

    def refused(self, status: int) -> None:
        """A request that names no model of the table."""
        self._requests.labels("", "", status).inc()

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
