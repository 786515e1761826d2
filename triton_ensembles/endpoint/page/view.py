"""The content of the status page as plain values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from triton_ensembles.endpoint.deployment import RunningVariant
from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.events import Event, RecentEvents
from triton_ensembles.endpoint.hosting.status import RecentError, VariantStatus
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.metrics.triton import StepTimes

_SHOWN = 30  # events
_LATENCIES = {
    "ModelLatency": "container",
    "OverheadLatency": "platform, including waiting",
    "ModelLoadingWaitTime": "waiting for a cold model",
}


@dataclass(frozen=True)
class LatencyRow:
    """Milliseconds of one step of one model. Triton itself always has ``average``, quantiles only when told to."""

    target_model: str
    step: str
    count: int
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    average: float | None = None


@dataclass(frozen=True)
class VariantView:
    """A variant with its latencies."""

    status: VariantStatus
    instance_type: str
    weight: float
    latencies: tuple[LatencyRow, ...]


@dataclass(frozen=True)
class EndpointView:
    """An endpoint with its variants."""

    name: str
    status: str
    config_name: str
    failure: str
    variants: tuple[VariantView, ...]

    @property
    def errors(self) -> list[RecentError]:
        found = [error for variant in self.variants for error in variant.status.errors]
        return sorted(found, key=lambda error: error.time, reverse=True)[:5]


@dataclass(frozen=True)
class View:
    """The whole page."""

    url: str
    now: datetime
    endpoints: tuple[EndpointView, ...]
    events: tuple[Event, ...]


def view(
    url: str, endpoints: Iterable[Endpoint], metrics: Metrics, steps: dict[str, list[StepTimes]], events: RecentEvents
) -> View:
    """The present state. ``steps``: Triton's own times by "ENDPOINT/VARIANT"."""
    shown = tuple(_endpoint(each, metrics, steps) for each in endpoints)
    return View(url, datetime.now(UTC), shown, tuple(events.latest(_SHOWN)))


def _endpoint(endpoint: Endpoint, metrics: Metrics, steps: dict[str, list[StepTimes]]) -> EndpointView:
    running = endpoint.deployment.variants.values() if endpoint.deployment else ()
    variants = tuple(_variant(endpoint.name, each, metrics, steps) for each in running)
    return EndpointView(endpoint.name, str(endpoint.status), endpoint.config_name, endpoint.failure, variants)


def _variant(
    endpoint: str, running: RunningVariant, metrics: Metrics, steps: dict[str, list[StepTimes]]
) -> VariantView:
    name = running.plan.name
    rows: list[LatencyRow] = []
    for model in metrics.latencies.models(endpoint, name):
        if metrics.latencies.of(endpoint, name, model, "ModelLatency") is None:
            continue  # it never answered: a mistyped name
        for metric, step in _LATENCIES.items():
            if found := metrics.latencies.of(endpoint, name, model, metric):
                rows.append(LatencyRow(model, step, found.count, found.p50, found.p90, found.p99))
        rows += [_step(model, each) for each in steps.get(f"{endpoint}/{name}", []) if each.target_model == model]
    return VariantView(running.variant.snapshot(), running.plan.instance_type, running.plan.weight, tuple(rows))


def _step(model: str, step: StepTimes) -> LatencyRow:
    name = "total in Triton" if step.step == model else step.step
    return LatencyRow(model, name, step.count, step.p50, step.p90, step.p99, step.average)
