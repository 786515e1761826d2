"""The content of the status page as plain values."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.hosting.spec import VariantPlan
from triton_ensembles.endpoint.hosting.status import RecentError, VariantStatus
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.metrics.triton import StepTimes

_ERRORS = 5
_LATENCIES = {
    "ModelLatency": "container",
    "OverheadLatency": "platform, including waiting",
    "ModelLoadingWaitTime": "waiting for a cold model",
}


@dataclass(frozen=True)
class VariantView:
    """A running variant with its latencies."""

    plan: VariantPlan
    status: VariantStatus
    latencies: list[StepTimes]


@dataclass(frozen=True)
class EndpointView:
    """An endpoint with its variants and its most recent errors, newest first."""

    endpoint: Endpoint
    variants: list[VariantView]
    errors: list[RecentError]


def view(endpoint: Endpoint, metrics: Metrics, steps: dict[str, list[StepTimes]]) -> EndpointView:
    """The present state. ``steps``: Triton's own times by "ENDPOINT/VARIANT"."""
    variants = []
    for running in endpoint.running:
        name = running.plan.name
        latencies = list(_latencies(endpoint.name, name, metrics, steps.get(f"{endpoint.name}/{name}", [])))
        variants.append(VariantView(running.plan, running.snapshot(), latencies))
    errors = [error for variant in variants for error in variant.status.errors]
    return EndpointView(endpoint, variants, sorted(errors, key=lambda error: error.time, reverse=True)[:_ERRORS])


def _latencies(endpoint: str, variant: str, metrics: Metrics, steps: list[StepTimes]) -> Iterator[StepTimes]:
    for model in metrics.latencies.models(endpoint, variant):
        if metrics.latencies.of(endpoint, variant, model, "ModelLatency") is None:
            continue  # it never answered: a mistyped name
        for metric, step in _LATENCIES.items():
            if found := metrics.latencies.of(endpoint, variant, model, metric):
                yield StepTimes(model, step, found.count, p50=found.p50, p90=found.p90, p99=found.p99)
        for each in steps:
            if each.target_model == model:
                yield replace(each, step="total in Triton") if each.step == model else each
