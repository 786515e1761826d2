"""The page at /: what is loaded, what the budgets allow, and what went wrong of late."""

import time
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from aiohttp import web

from triton_ensembles.host.report import HostReport
from triton_ensembles.host.room import WAITS, Room
from triton_ensembles.host.settings import Settings

_SHOWN = 50  # models
_SAFE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def page(settings: Settings, room: Room, report: HostReport) -> web.Response:
    """The page, which a browser reads again every two seconds. It has no script."""
    known = room.models()
    rows = [{**entry, "model": known.get(entry["name"])} for entry in room.index()]
    rows.sort(key=_place)
    loaded = sum(row["state"] == "READY" for row in rows)
    status = room.status()
    totals = [
        ("tritonserver", "ready" if status.ready else "starting"),
        ("loaded", f"{loaded} of {len(rows)}"),
        ("requests", sum(model.hits + model.misses for model in known.values())),
        ("under way", status.in_flight),
        ("memory", f"{_mebibytes(status.memory_bytes)} of {_mebibytes(settings.memory_budget)}"),
        ("disk", f"{_mebibytes(status.disk_bytes)} of {_mebibytes(settings.disk_budget)}"),
        ("restarts", status.restarts),
    ]
    html = _template().render(
        totals=totals,
        models=rows,
        loaded=loaded,
        shown=_SHOWN,
        lately=list(report.lately),
        waits=WAITS,
        now=time.monotonic(),
    )
    return web.Response(text=html, content_type="text/html", headers=_SAFE)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
    environment.filters["mebibytes"] = _mebibytes
    return environment.get_template("page.html.j2")


def _place(row: dict[str, Any]) -> tuple[bool, int, str]:
    """Put models that do not load first, and then those that were requested most."""
    model = row["model"]
    works = row["state"] != "UNAVAILABLE" or row["reason"] == WAITS
    return works, -model.hits - model.misses if model else 0, row["name"]


def _mebibytes(size: int) -> str:
    return f"{size >> 20} MiB"
