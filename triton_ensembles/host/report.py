"""A host's report to Prometheus and its log about its room."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.host.names import in_words

_log = logging.getLogger(__name__)
_KEPT = 20  # of what went wrong
_LOAD_SECONDS = (0.5, 1, 2, 5, 10, 30, 60, 120)
Gauges = Callable[[], Iterable[tuple[str, str, float]]]


class HostReport:
    """Counts requests, loads and evictions. A :class:`~triton_ensembles.hosting.report.Report`.

    ``warn`` is called with what people who started the host should see.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.lately: deque[tuple[str, str]] = deque(maxlen=_KEPT)  # what went wrong, with the time, the latest first
        self._warn = warn
        self._requests = Counter(
            "host_requests", "Requests by model and HTTP status", ("model", "status"), registry=self.registry
        )
        self._loads = Histogram(
            "host_load_seconds", "Loads of models by Triton", registry=self.registry, buckets=_LOAD_SECONDS
        )
        self._hits = Counter("host_hits", "Requests that found their model loaded", registry=self.registry)
        self._misses = Counter("host_misses", "Requests that waited for their model", registry=self.registry)
        self._unloads = Counter("host_unloads", "Models that were unloaded", registry=self.registry)

    def answered(self, model: str, status: int) -> None:
        """A request for a model of the catalog was answered with this HTTP status."""
        self._requests.labels(model, status).inc()

    def show(self, gauges: Gauges) -> None:
        """Add gauges, as (name, description, value), which are read with each scrape."""
        self.registry.register(_Gauges(gauges))

    def metric(self, name: str, value: float, target_model: str = "") -> None:  # noqa: ARG002
        if name == "ModelLoadingTime":
            self._loads.observe(value / 1e6)
        elif name == "ModelUnloadingTime":
            self._unloads.inc()
        elif name == "ModelCacheHit":
            (self._hits if value else self._misses).inc()

    def gone(self, target_model: str) -> None:
        """Counters of a model stay: it may be requested again."""

    def event(self, kind: str, text: str) -> None:
        _log.info("%s: %s", kind, text)

    def error(self, target_model: str, error: EnsembleError) -> None:
        text = in_words(str(error), target_model[:-9])  # of a model's key
        _log.error("%s: %s", target_model[:-9], text)
        self._note(f"{target_model[:-9]}: {text}" if target_model else text)

    def warning(self, target_model: str, text: str, cure: str = "") -> None:
        text = in_words(f"{text}; {cure}" if cure else text, target_model[:-9])  # of a model's key
        _log.warning("%s", text)
        self._note(text)
        self._warn(text)

    def _note(self, text: str) -> None:
        if not self.lately or self.lately[0][1] != text:
            self.lately.appendleft((time.strftime("%H:%M:%S"), text))


class _Gauges(Collector):
    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        for name, description, value in self._gauges():
            yield GaugeMetricFamily(name, description, value)
