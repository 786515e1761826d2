"""Triton's metrics in the local CloudWatch, where the container's variables say so (AWS's guide; since 23.07).

On AWS the CloudWatch agent in the container reads them every minute, and leaves custom metrics out. Inferred, since no
source says it: the dimensions are EndpointName, VariantName and Triton's model and version; counters count what came
since the last reading; histograms and summaries are left out.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client.parser import text_string_to_metric_families

from triton_ensembles.endpoint.metrics.minutes import MinuteStatistics
from triton_ensembles.hosting.triton_metrics import Source, TritonMetrics

_LOG = logging.getLogger(__name__)
MINUTE = 60.0
_TRITONS = "nv_"  # names of custom metrics have another beginning
_NAMES = {"endpoint": "EndpointName", "variant": "VariantName", "model": "model", "version": "version"}


class TritonPublisher:
    """Records the metrics of the sources that have a namespace, from :meth:`begin` on, when a minute has ended."""

    def __init__(self, triton: TritonMetrics, sources: Callable[[], Iterator[Source]], minutes: MinuteStatistics):
        self._triton = triton
        self._sources = sources
        self._minutes = minutes
        self._counted: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self._running: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin, unless it has begun already."""
        if self._running is None:
            self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._running

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(MINUTE - time.time() % MINUTE)
            try:
                sources = [source for source in self._sources() if source.namespace]
                namespaces = {
                    (source.labels["endpoint"], source.labels["variant"]): source.namespace for source in sources
                }
                self.record(await self._triton.exposition(sources), namespaces)
            except Exception:  # the next minute may succeed
                _LOG.exception("Triton's metrics of this minute were not published")

    def record(self, exposition: str, namespaces: Mapping[tuple[str, str], str]) -> None:
        """Add the values of an exposition; ``namespaces`` are by endpoint and variant."""
        for family in text_string_to_metric_families(exposition):
            if family.type not in ("counter", "gauge") or not family.name.startswith(_TRITONS):
                continue
            for sample in family.samples:
                value, labels = sample.value, sample.labels
                if not math.isfinite(value):
                    continue
                if family.type == "counter":
                    key = (family.name, frozenset(labels.items()))
                    before = self._counted.get(key, 0.0)
                    self._counted[key] = value
                    value -= before if before <= value else 0.0  # less: the server was restarted
                namespace = namespaces[labels["endpoint"], labels["variant"]]
                dimensions = tuple((name, labels[label]) for label, name in _NAMES.items() if label in labels)
                self._minutes.add(namespace, family.name, "None", value, dimensions)
