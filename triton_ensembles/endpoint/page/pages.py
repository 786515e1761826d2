"""The pages for browsers and for Prometheus."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from aiohttp import web

from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.page.view import FOLDED, latencies, view
from triton_ensembles.hosting.triton_metrics import Source, TritonMetrics

_HERE = Path(__file__).parent
_FILES = {"/-/style.css": "text/css", "/-/script.js": "text/javascript"}
_STEPS_SECONDS = 0.1  # that the page waits for Triton's metrics; then it shows those of a moment ago
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Pages:
    """The status page and /metrics. ``endpoints`` iterates over those that exist at the time."""

    def __init__(self, url: str, endpoints: Iterable[Endpoint], metrics: Metrics, events: RecentEvents) -> None:
        self._url = url
        self._endpoints = endpoints
        self._metrics = metrics
        self._events = events
        self.triton = TritonMetrics()
        loader = jinja2.FileSystemLoader(_HERE)
        self._templates = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        self._templates.filters |= {"ago": _ago, "milliseconds": _milliseconds, "id": _identifier}

    def find(self, method: str, path: str) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] | None:
        """The handler of an unsigned request, or None when it is not for a page. No bucket's name begins with "-"."""
        if method not in ("GET", "HEAD"):
            return None
        known = {"/": self._status, "/metrics": self._prometheus}
        return self._file if path in _FILES else known.get(path)

    async def _status(self, request: web.BaseRequest) -> web.StreamResponse:
        html = await self._render(request.query.get("rows") == "all")
        return web.Response(text=html, content_type="text/html", headers=_SAFE)

    async def _file(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path.split("?")[0]
        text = (_HERE / path.removeprefix("/-/")).read_text()
        return web.Response(text=text, content_type=_FILES[path], headers=_SAFE)

    async def _prometheus(self, _: web.BaseRequest) -> web.StreamResponse:
        own = await asyncio.to_thread(self._metrics.prometheus.text)  # a thousand models take a while
        triton = await self.triton.exposition(self.sources())
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=own + triton.encode(), headers=headers)

    async def _render(self, all_rows: bool) -> str:
        views = [view(endpoint, all_rows) for endpoint in self._endpoints]
        shown = {
            (page.endpoint.name, variant.plan.name): frozenset(variant.timed)
            for page in views
            for variant in page.variants
        }
        steps = await self.triton.step_times(self.sources(shown), _STEPS_SECONDS)
        times = {}
        for page in views:
            for variant in page.variants:
                key = f"{page.endpoint.name}/{variant.plan.name}"
                times[key] = list(latencies(page.endpoint.name, variant, self._metrics, steps.get(key, [])))
        return await asyncio.to_thread(  # a thousand rows take a while
            self._templates.get_template("frame.html.j2").render,
            url=self._url,
            now=datetime.now(UTC),
            endpoints=views,
            latencies=times,
            events=tuple(self._events.latest),
            all_rows=all_rows,
            folded=FOLDED,
        )

    def sources(self, only: Mapping[tuple[str, str], frozenset[str]] | None = None) -> Iterator[Source]:
        """All instances that publish metrics; ``only``: the target models of each variant to read."""
        for endpoint in self._endpoints:
            for running in endpoint.running:
                single = running.plan.spec.mode == "SingleModel"
                target_models = None if only is None else only.get((endpoint.name, running.plan.name), frozenset())
                for instance in running.snapshot().instances:
                    if instance.metrics_url and instance.ready:
                        loaded = [model for model in instance.models if model.loaded]
                        yield Source(
                            instance.metrics_url,
                            {"endpoint": endpoint.name, "variant": running.plan.name, "instance": str(instance.index)},
                            {
                                model.hash: model.target_model
                                for model in loaded
                                if target_models is None or model.target_model in target_models
                            },
                            single,
                        )


def _ago(then: datetime | None, now: datetime) -> str:
    """``3 s ago``, ``5 min ago``, ``2 h ago``; a dash for None."""
    if then is None:
        return "–"
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 60:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 3600 else f"{seconds // 3600} h ago"


def _milliseconds(value: float | None) -> str:
    """At most three digits; a dash for None."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _identifier(value: tuple[object, ...]) -> str:
    """An id for what is the same thing after an update of the page."""
    return f"k{zlib.crc32(repr(value).encode()):08x}"
