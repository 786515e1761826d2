"""The status page of a thousand models, from records as a variant gives them."""

import asyncio
import random
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.page.pages import Pages
from triton_ensembles.endpoint.variants.spec import ContainerSpec, VariantPlan
from triton_ensembles.endpoint.variants.status import RecentError, VariantStatus
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.model import ColdStart, Model
from triton_ensembles.hosting.status import InstanceStatus
from triton_ensembles.sagemaker.model_state import ModelState

PLAN = VariantPlan("AllTraffic", ContainerSpec("image", "s3://b/", "MultiModel"), Budgets(1 << 30, 1 << 30), 1, "ml", 1)
INSTANCE = InstanceStatus(0, True, 7, 0, 0, 0, 1 << 20, 1 << 20, 1 << 19, None, ())


@dataclass
class Recorded:
    """A variant that shows a record."""

    plan: VariantPlan
    models: tuple[Model, ...]
    errors: tuple[RecentError, ...]

    def snapshot(self) -> VariantStatus:
        return VariantStatus((replace(INSTANCE, models=self.models),), self.errors, 5, "3.11")


def models(count: int) -> tuple[Model, ...]:
    """Idle, loaded ones with a history."""
    rng, now = random.Random(7), datetime.now(UTC)
    return tuple(
        Model(
            f"tenant-{number:05}.tar.gz",
            str(number),
            "/",
            state=ModelState.LOADED,
            disk_bytes=rng.randrange(1 << 30),
            load_bytes=rng.randrange(1 << 30),
            hits=rng.randrange(1000),
            last_used=now - timedelta(seconds=rng.randrange(9)),
            cold_start=ColdStart(1, 2, 3, rng.random()),
        )
        for number in range(count)
    )


def html(shown: tuple[Model, ...], query: str = "", errors: tuple[RecentError, ...] = ()) -> str:
    """The page with these models and errors."""

    async def get() -> str:
        endpoint = Endpoint("e", "arn", cast(Any, None), lambda _: None)
        endpoint.variants = {PLAN.name: cast(Any, Recorded(PLAN, shown, errors))}
        pages = Pages("http://127.0.0.1:1", [endpoint], Metrics(), RecentEvents())
        handler = pages.find("GET", "/")
        assert handler is not None
        reply = await handler(make_mocked_request("GET", f"/{query}"))
        assert isinstance(reply, web.Response)
        return str(reply.text)

    return asyncio.run(get())


def names(page: str) -> list[str]:
    return re.findall(r'data-model="([^"]*)"', page)


def test_the_page_is_as_large_with_a_thousand_models_as_with_a_hundred() -> None:
    """It is made again and sent every second, beside the requests that it shows: the totals, then errors, then models
    of which most are folded."""
    errors = (RecentError(datetime.now(UTC), 0, "a", "new"),)
    hundred, thousand = html(models(100), errors=errors), html(models(1000), errors=errors)
    assert len(thousand) < 1.01 * len(hundred) < 100_000
    parts = ("<dt>models</dt><dd>1000</dd>", "<dt>loaded</dt><dd>1000</dd>", "Last errors", "data-model=", "980 more")
    assert sorted(parts, key=thousand.index) == list(parts)
    assert "512.0 KiB of it in /tmp" in thousand
    assert len(names(thousand)) == 20
    assert len(names(html(models(1000), "?rows=all"))) == 1000


def test_the_models_requested_most_come_first_and_old_errors_fade() -> None:
    shown, now = models(1000), datetime.now(UTC)
    shown[500].hits, shown[600].misses, shown[900].hits = 7000, 6000, 5000
    new = RecentError(now, 0, "a", "<img src=x onerror=alert(1)>", "upload it again")
    page = html(shown, errors=(new, RecentError(now - timedelta(hours=1), 0, "b", "past")))
    assert 'data-label="Hits">7000</td>' in page and 'data-label="Misses">6000</td>' in page
    assert "<b>a</b> &lt;img src=x" in page and "<img" not in page and '<em class="cure">upload it again</em>' in page
    assert names(page)[:3] == [f"tenant-{number:05}.tar.gz" for number in (500, 600, 900)]
    assert re.findall(r'<li id="[^"]*"( class="old")?><time>', page) == ["", ' class="old"']


def test_a_cold_start_shows_what_it_waits_or_has_waited_for() -> None:
    queued, started = models(2)
    queued.state, queued.waits_for = ModelState.WAITING, "disk space"
    started.cold_start = ColdStart(1.5, 0, 0, 1, "memory")
    page = html((queued, started))
    assert ">queued</span> <small> for disk space</small>" in page
    assert "wait&nbsp;1.50 for memory ·" in page
    started.cold_start = ColdStart(0.01, 0, 0, 1, "memory")
    assert "wait&nbsp;0.01 ·" in html((started,))


def test_a_broken_model_comes_first_and_says_why_and_the_totals_count_it() -> None:
    shown = models(1000)
    shown[700].broken = "a process of its steps has ended; upload the archive under another name"
    page = html(shown)
    assert names(page)[0] == "tenant-00700.tar.gz"
    assert "has ended; upload the archive" in page
    assert "<dt>broken</dt><dd>1</dd>" in page


def test_rows_that_make_no_sense_are_no_error() -> None:
    assert len(names(html(models(30), "?rows=-3&rows=%"))) == 20
