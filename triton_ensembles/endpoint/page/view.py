"""The content of the status page as plain values."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from triton_ensembles.endpoint.endpoint_state import Endpoint
from triton_ensembles.endpoint.hosting.spec import VariantPlan
from triton_ensembles.endpoint.hosting.status import RecentError, VariantStatus
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.metrics.triton import StepTimes
from triton_ensembles.endpoint.page.choice import FOLDED, Choice
from triton_ensembles.endpoint.page.rows import CONDITIONS, Order, Row, rows_of

_LATENCIES = {
    "ModelLatency": "container",
    "OverheadLatency": "platform, including waiting",
    "ModelLoadingWaitTime": "waiting for a cold model",
}


@dataclass(frozen=True)
class VariantView:
    """A running variant with the rows to show, of those that match the filter, of all."""

    plan: VariantPlan
    status: VariantStatus
    rows: list[Row]
    matching: int
    all: int

    @property
    def timed(self) -> list[str]:
        """The target models whose latencies are shown."""
        return sorted({row.model.target_model for row in self.rows[:FOLDED]})

    def cure(self, row: Row) -> str:
        """Of a broken model, from the errors; "" where there is none."""
        broken = row.model.broken
        return next((error.cure for error in self.status.errors if broken and broken in error.text), "")


@dataclass(frozen=True)
class Totals:
    """Of all instances of an endpoint. ``conditions``: how many models are in each, on one instance or another."""

    models: int
    conditions: dict[str, int]
    invocations: int
    in_flight: int
    not_ready: int
    restarts: int
    memory_bytes: int
    memory_budget: int
    disk_bytes: int
    disk_budget: int


@dataclass(frozen=True)
class EndpointView:
    """An endpoint with its totals, its recent errors (newest first) and its variants."""

    endpoint: Endpoint
    totals: Totals
    errors: list[RecentError]
    variants: list[VariantView]


def view(endpoint: Endpoint, choice: Choice, order: Order) -> EndpointView:
    """The present state."""
    variants, rows = [], []
    for running in endpoint.running:
        status = running.snapshot()
        own = rows_of(f"{endpoint.name}/{running.plan.name}", status.instances)
        rows += own
        matching = order.sorted(row for row in own if row.matches(choice.filter))
        shown = matching if choice.all_rows else matching[:FOLDED]
        variants.append(VariantView(running.plan, status, shown, len(matching), len(own)))
    errors = [error for variant in variants for error in variant.status.errors]
    errors.sort(key=lambda error: error.time, reverse=True)
    return EndpointView(endpoint, _totals(variants, rows), errors, variants)


def latencies(endpoint: str, view: VariantView, metrics: Metrics, steps: Iterable[StepTimes]) -> Iterator[StepTimes]:
    """Of the models that the view has ``timed``. ``steps``: Triton's own times."""
    variant, steps = view.plan.name, list(steps)
    for model in view.timed:
        if metrics.latencies.of(endpoint, variant, model, "ModelLatency") is None:
            continue  # it has not answered yet
        for metric, step in _LATENCIES.items():
            if found := metrics.latencies.of(endpoint, variant, model, metric):
                yield StepTimes(model, step, found.count, p50=found.p50, p90=found.p90, p99=found.p99)
        for each in sorted(steps, key=lambda each: (each.step != model, each.step)):
            if each.target_model == model:
                yield replace(each, step="total in Triton") if each.step == model else each


def _totals(variants: list[VariantView], rows: list[Row]) -> Totals:
    counted = Counter(row.condition for row in rows)
    instances = [(each, variant.plan.budgets) for variant in variants for each in variant.status.instances]
    return Totals(
        models=len({row.model.target_model for row in rows}),
        conditions={condition: counted[condition] for condition in CONDITIONS},
        invocations=sum(variant.status.invocations for variant in variants),
        in_flight=sum(each.in_flight for each, _ in instances),
        not_ready=sum(each.not_ready for each, _ in instances),
        restarts=sum(each.restarts for each, _ in instances),
        memory_bytes=sum(each.memory_bytes for each, _ in instances),
        memory_budget=sum(budgets.memory_bytes for _, budgets in instances),
        disk_bytes=sum(each.disk_bytes for each, _ in instances),
        disk_budget=sum(budgets.disk_bytes for _, budgets in instances),
    )
