"""The page at /: what is loaded, what the budgets allow, and what went wrong of late."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
from aiohttp import web

from triton_ensembles.host.report import HostReport
from triton_ensembles.host.room import WAITS, Room
from triton_ensembles.host.settings import Settings
from triton_ensembles.hosting.model import Model

_SHOWN = 50  # models
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class _Row:
    name: str
    state: str
    failed: str  # why it does not load
    requests: int
    cold: int  # of these, those that waited for it
    memory: str
    start: str  # seconds of the last cold start
    used: str


def page(settings: Settings, room: Room, report: HostReport) -> web.Response:
    """The page, which a browser reads again every two seconds. It has no script."""
    rows = sorted(_rows(room), key=lambda row: (not row.failed, -row.requests, row.name))
    status = room.status()
    totals = [
        ("tritonserver", "ready" if status.ready else "starting"),
        ("loaded", f"{sum(row.state == 'READY' for row in rows)} of {len(rows)}"),
        ("requests", sum(row.requests for row in rows)),
        ("under way", status.in_flight),
        ("memory", f"{_mebibytes(status.memory_bytes)} of {_mebibytes(settings.memory_budget)}"),
        ("disk", f"{_mebibytes(status.disk_bytes)} of {_mebibytes(settings.disk_budget)}"),
        ("restarts", status.restarts),
    ]
    html = _template().render(
        totals=totals,
        models=rows,
        loaded=sum(row.state == "READY" for row in rows),
        shown=_SHOWN,
        lately=list(report.lately),
    )
    return web.Response(text=html, content_type="text/html", headers=_SAFE)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
    return environment.get_template("page.html.j2")


def _rows(room: Room) -> Iterator[_Row]:
    known = room.models()
    for entry in room.index():
        name, state = entry["name"], entry["state"]
        model = known.get(name)
        reason = entry.get("reason", "")
        failed = reason if state == "UNAVAILABLE" and reason != WAITS else ""
        if model is None:
            yield _Row(name, state, failed, 0, 0, "–", "–", "–")
        else:
            start = f"{model.cold_start.total:.2f} s" if model.cold_start else "–"
            memory = _mebibytes(model.memory_bytes) if model.loaded else "–"
            yield _Row(name, state, failed, model.hits + model.misses, model.misses, memory, start, _ago(model))


def _ago(model: Model) -> str:
    return f"{time.monotonic() - model.last_use:.0f} s ago" if model.last_use else "–"


def _mebibytes(size: int) -> str:
    return f"{size >> 20} MiB"
