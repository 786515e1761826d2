"""The pages for browsers and for Prometheus."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import jinja2
from aiohttp import web

from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.metrics.triton import Source, scrape, step_times
from triton_ensembles.endpoint.page.view import view

_HERE = Path(__file__).parent
_FILES = {"/-/style.css": "text/css", "/-/script.js": "text/javascript"}
_REFRESH_SECONDS = 1.0
_KEEP_ALIVE_REFRESHES = 15
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Pages:
    """The status page and /metrics.

    Args:
        endpoints: iterates over the endpoints that exist at the time.
        session: for reading Triton's metrics from the instances.
    """

    def __init__(
        self,
        url: str,
        endpoints: Iterable[Endpoint],
        metrics: Metrics,
        events: RecentEvents,
        session: aiohttp.ClientSession,
    ) -> None:
        self._url = url
        self._endpoints = endpoints
        self._metrics = metrics
        self._events = events
        self._session = session
        self._closing = False
        loader = jinja2.FileSystemLoader(_HERE)
        self._templates = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        self._templates.filters |= {"size": size, "ago": ago, "milliseconds": milliseconds}

    def find(self, method: str, path: str) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]] | None:
        """The handler of an unsigned request, or None when it is not for a page. No bucket's name begins with "-"."""
        if method not in ("GET", "HEAD"):
            return None
        known = {"/": self._status, "/metrics": self._prometheus, "/-/live": self._live}
        return self._file if path in _FILES else known.get(path)

    def close(self) -> None:
        """End the event streams of open pages."""
        self._closing = True
        self._events.add("", "stopping", "the endpoint server is stopping")

    async def _status(self, _: web.BaseRequest) -> web.StreamResponse:
        html = self._templates.get_template("status.html.j2").render(await self._content())
        return web.Response(text=html, content_type="text/html", headers=_SAFE)

    async def _file(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.raw_path.split("?")[0]
        text = (_HERE / path.removeprefix("/-/")).read_text()
        return web.Response(text=text, content_type=_FILES[path], headers=_SAFE)

    async def _prometheus(self, _: web.BaseRequest) -> web.StreamResponse:
        own = self._metrics.prometheus.text()
        triton = await scrape(self._session, self._sources())
        return web.Response(
            body=own + triton.encode(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    async def _live(self, request: web.BaseRequest) -> web.StreamResponse:
        """Server-sent events: the live part of the page, whenever it has changed."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **_SAFE})
        await response.prepare(request)
        template = self._templates.get_template("live.html.j2")
        sent, unchanged = "", 0
        while not self._closing:
            html = template.render(await self._content())
            unchanged += 1
            if html != sent:
                await response.write(f"data: {json.dumps(html)}\n\n".encode())
                sent, unchanged = html, 0
            elif unchanged >= _KEEP_ALIVE_REFRESHES:
                await response.write(b": still here\n\n")
                unchanged = 0
            await self._events.wait_for_next(_REFRESH_SECONDS)
            await asyncio.sleep(0.05)  # events often come in groups
        await response.write_eof()
        return response

    async def _content(self) -> dict[str, Any]:
        steps = step_times(await scrape(self._session, self._sources()))
        endpoints = [view(endpoint, self._metrics, steps) for endpoint in self._endpoints]
        return {"url": self._url, "now": datetime.now(UTC), "endpoints": endpoints, "events": self._events.latest}

    def _sources(self) -> Iterator[Source]:
        for endpoint in self._endpoints:
            for running in endpoint.running:
                single = running.plan.spec.mode == "SingleModel"
                for instance in running.snapshot().instances:
                    if instance.metrics_url and instance.ready:
                        yield Source(
                            instance.metrics_url,
                            {"endpoint": endpoint.name, "variant": running.plan.name, "instance": str(instance.index)},
                            {model.hash: model.target_model for model in instance.models},
                            frozenset(model.target_model for model in instance.models if model.loaded),
                            single,
                        )


def size(count: float) -> str:
    """A number of bytes as text: ``12 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def ago(then: datetime | None, now: datetime) -> str:
    """``3 s ago``, ``5 min ago``, ``2 h ago``; a dash for None."""
    if then is None:
        return "–"
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 60:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 3600 else f"{seconds // 3600} h ago"


def milliseconds(value: float | None) -> str:
    """At most three digits; a dash for None."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
