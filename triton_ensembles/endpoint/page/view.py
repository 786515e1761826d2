"""What the status page shows, as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from triton_ensembles.endpoint.deployment import Live
from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.events import Entry, Feed
from triton_ensembles.endpoint.hosting import Happening, VariantStatus
from triton_ensembles.endpoint.metrics import Metrics
from triton_ensembles.endpoint.metrics.triton import StepTimes

_SHOWN = 30  # entries of the feed
_LATENCIES = {
    "ModelLatency": "container",
    "OverheadLatency": "platform, waiting included",
    "ModelLoadingWaitTime": "waiting for the model, when cold",
}


@dataclass(frozen=True)
class LatencyRow:
    """Milliseconds of one step of one model. ``average``: Triton counts only these for steps."""

    target_model: str
    step: str
    count: int
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    average: float | None = None


@dataclass(frozen=True)
class VariantView:
    """A variant, and what is known of its speed."""

    status: VariantStatus
    instance_type: str
    weight: float
    latencies: tuple[LatencyRow, ...]


@dataclass(frozen=True)
class EndpointView:
    """An endpoint with all that is in it."""

    name: str
    status: str
    config_name: str
    failure: str
    variants: tuple[VariantView, ...]

    @property
    def errors(self) -> list[Happening]:
        found = [error for variant in self.variants for error in variant.status.errors]
        return sorted(found, key=lambda error: error.time, reverse=True)[:5]


@dataclass(frozen=True)
class View:
    """The whole page."""

    url: str
    now: datetime
    endpoints: tuple[EndpointView, ...]
    entries: tuple[Entry, ...]


def view(
    url: str, endpoints: Iterable[Endpoint], metrics: Metrics, steps: dict[str, list[StepTimes]], feed: Feed
) -> View:
    """How things stand now. ``steps``: Triton's own times by "ENDPOINT/VARIANT"."""
    shown = tuple(_endpoint(each, metrics, steps) for each in endpoints)
    return View(url, datetime.now(UTC), shown, tuple(feed.latest(_SHOWN)))


def _endpoint(endpoint: Endpoint, metrics: Metrics, steps: dict[str, list[StepTimes]]) -> EndpointView:
    live = endpoint.deployment.live.values() if endpoint.deployment else ()
    variants = tuple(_variant(endpoint.name, each, metrics, steps) for each in live)
    return EndpointView(endpoint.name, str(endpoint.status), endpoint.config_name, endpoint.failure, variants)


def _variant(endpoint: str, live: Live, metrics: Metrics, steps: dict[str, list[StepTimes]]) -> VariantView:
    name = live.plan.name
    rows: list[LatencyRow] = []
    for model in metrics.latencies.models(endpoint, name):
        if metrics.latencies.of(endpoint, name, model, "ModelLatency") is None:
            continue  # it never answered: a name that somebody mistyped
        for metric, step in _LATENCIES.items():
            if found := metrics.latencies.of(endpoint, name, model, metric):
                rows.append(LatencyRow(model, step, found.count, found.p50, found.p90, found.p99))
        rows += [_step(model, each) for each in steps.get(f"{endpoint}/{name}", []) if each.target_model == model]
    return VariantView(live.variant.snapshot(), live.plan.instance_type, live.plan.weight, tuple(rows))


def _step(model: str, step: StepTimes) -> LatencyRow:
    name = "all of it, in Triton" if step.step == model else step.step
    return LatencyRow(model, name, step.count, step.p50, step.p90, step.p99, step.average)
