"""The content of the status page as plain values."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.metrics.record import Metrics, percentiles
from triton_ensembles.endpoint.variants.spec import VariantPlan
from triton_ensembles.endpoint.variants.status import RecentError, VariantStatus
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.status import InstanceStatus
from triton_ensembles.hosting.triton_metrics import StepTimes
from triton_ensembles.sagemaker.model_state import ModelState

CONDITIONS = ("broken", "queued", *(state.value for state in ModelState if state is not ModelState.WAITING))
FOLDED = 20  # rows of a variant
_LATENCIES = {
    "ModelLatency": "container",
    "OverheadLatency": "platform, including waiting",
    "ModelLoadingWaitTime": "waiting for a cold model",
}


@dataclass(frozen=True)
class Row:
    """A model on one instance, in a condition of CONDITIONS."""

    variant: str
    instance: int
    model: Model
    condition: str

    @property
    def key(self) -> tuple[str, int, str]:
        return self.variant, self.instance, self.model.target_model


@dataclass(frozen=True)
class VariantView:
    """A running variant with the rows to show, of ``all``."""

    plan: VariantPlan
    status: VariantStatus
    rows: list[Row]
    all: int

    @property
    def timed(self) -> list[str]:
        """The target models whose latencies are shown."""
        return sorted({row.model.target_model for row in self.rows[:FOLDED]})

    def cure(self, row: Row) -> str:
        """The cure of a broken model, from the errors; "" where there is none."""
        broken = row.model.broken
        return next((error.cure for error in self.status.errors if broken and broken in error.text), "")


@dataclass(frozen=True)
class EndpointView:
    """An endpoint with its totals, its recent errors (newest first) and its variants."""

    endpoint: Endpoint
    totals: dict[str, Any]
    errors: list[RecentError]
    variants: list[VariantView]


def view(endpoint: Endpoint, all_rows: bool) -> EndpointView:
    """Return the present state. ``all_rows``: otherwise the first of each variant."""
    variants, rows = [], []
    for running in endpoint.running:
        status = running.snapshot()
        own = rows_of(f"{endpoint.name}/{running.plan.name}", status.instances)
        rows += own
        variants.append(VariantView(running.plan, status, own if all_rows else own[:FOLDED], len(own)))
    errors = [error for variant in variants for error in variant.status.errors]
    errors.sort(key=lambda error: error.time, reverse=True)
    return EndpointView(endpoint, _totals(variants, rows), errors, variants)


def latencies(endpoint: str, view: VariantView, metrics: Metrics, steps: Iterable[StepTimes]) -> Iterator[StepTimes]:
    """Latencies of the models that the view has ``timed``. ``steps``: Triton's own times."""
    variant, steps = view.plan.name, list(steps)
    for model in view.timed:
        if not metrics.latest(endpoint, variant, model, "ModelLatency"):
            continue  # it has not answered yet
        for metric, step in _LATENCIES.items():
            if latest := metrics.latest(endpoint, variant, model, metric):
                yield StepTimes(model, step, len(latest), None, *percentiles(latest))
        own = (time for time in steps if time.target_model == model)
        for step_time in sorted(own, key=lambda time: (time.step != model, time.step)):
            yield replace(step_time, step="total in Triton") if step_time.step == model else step_time


def _totals(variants: list[VariantView], rows: list[Row]) -> dict[str, Any]:
    """Sums over all instances of an endpoint; ``conditions``: the number of models in each, on any instance."""
    counted = Counter(row.condition for row in rows)
    instances = [(instance, variant.plan.budgets) for variant in variants for instance in variant.status.instances]
    return {
        "models": len({row.model.target_model for row in rows}),
        "conditions": {condition: counted[condition] for condition in CONDITIONS},
        "invocations": sum(variant.status.invocations for variant in variants),
        "in_flight": sum(instance.in_flight for instance, _ in instances),
        "not_ready": sum(instance.not_ready for instance, _ in instances),
        "restarts": sum(instance.restarts for instance, _ in instances),
        "memory_bytes": sum(instance.memory_bytes for instance, _ in instances),
        "memory_budget": sum(budgets.memory_bytes for _, budgets in instances),
        "evict_ahead": any(budgets.evict_ahead for _, budgets in instances),
        "disk_bytes": sum(instance.disk_bytes for instance, _ in instances),
        "disk_budget": sum(budgets.disk_bytes for _, budgets in instances),
    }


def rows_of(variant: str, instances: Iterable[InstanceStatus]) -> list[Row]:
    """Return the rows in their order: broken models, then those that were requested most, then by name."""
    rows = [Row(variant, instance.index, model, model.condition) for instance in instances for model in instance.models]
    return sorted(rows, key=_place)


def _place(row: Row) -> tuple[bool, int, str, int]:
    model = row.model
    return row.condition != "broken", -model.hits - model.misses, model.target_model, row.instance
