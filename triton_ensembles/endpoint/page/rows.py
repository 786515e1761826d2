"""The rows of the table of models: filtered, and sorted so that they stay where they are.

A URL says what a visitor of the page has chosen: ``/?filter=bert&sort=memory&rows=all``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import urlencode

from triton_ensembles.endpoint.hosting.model import Model
from triton_ensembles.endpoint.hosting.status import InstanceStatus
from triton_ensembles.sagemaker.model_state import ModelState

CONDITIONS = ("broken", "queued", *(state.value for state in ModelState if state is not ModelState.WAITING))
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
SORTS = ("in-use", "name", "state", "hits", "misses", "memory", "disk", "last-used", "cold-start")
FOLDED = 20  # rows of a variant


@dataclass(frozen=True)
class Choice:
    """The filter, the order and the number of rows; what the URL has wrong is as if it were not there."""

    filter: str = ""
    sort: str = SORTS[0]
    all_rows: bool = False

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Choice:
        sort = query.get("sort", "")
        return cls(query.get("filter", ""), sort if sort in SORTS else SORTS[0], query.get("rows") == "all")

    def link(self, **changes: str | bool) -> str:
        """The URL of the page with these fields changed."""
        to = replace(self, **changes)  # type: ignore[arg-type]
        fields = {"filter": to.filter, "sort": to.sort if to.sort != SORTS[0] else "", "rows": "all" * to.all_rows}
        query = urlencode({name: value for name, value in fields.items() if value})
        return f"/?{query}" if query else "/"


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

    def matches(self, filter: str) -> bool:
        """Whether ``filter`` is the condition or a part of the name."""
        text = filter.strip().lower()
        return text == self.condition or text in self.model.target_model.lower()


def rows_of(variant: str, instances: Iterable[InstanceStatus]) -> list[Row]:
    return [Row(variant, instance.index, model, model.condition) for instance in instances for model in instance.models]


class Order:
    """An order of rows for one visitor.

    Broken ones come first. By anything but the name, which never changes, rows keep the places that they had at first;
    new ones come last.
    """

    def __init__(self, sort: str) -> None:
        self.sort = sort
        self.since = datetime.now(UTC)
        self._places: dict[tuple[str, int, str], int] = {}

    def sorted(self, rows: Iterable[Row]) -> list[Row]:
        ordered = sorted(rows, key=lambda row: (_rank(row, self.sort), row.model.target_model, row.instance))
        if self.sort != "name":
            for row in ordered:
                self._places.setdefault(row.key, len(self._places))
            ordered.sort(key=lambda row: self._places[row.key])
        return sorted(ordered, key=lambda row: row.condition != "broken")


def _rank(row: Row, sort: str) -> tuple[float, ...]:
    """The busiest, the largest, the latest and the worst come first."""
    model = row.model
    match sort:
        case "name":
            return ()
        case "in-use":
            return -model.in_use, -model.hits - model.misses
        case "state":
            return (CONDITIONS.index(row.condition),)
        case "last-used":
            return (-(model.last_used or _LONG_AGO).timestamp(),)
        case "cold-start":
            return (-model.cold_start.total if model.cold_start else 0,)
    numbers = {"hits": model.hits, "misses": model.misses}
    return (-(numbers | {"memory": model.memory_bytes, "disk": model.disk_bytes})[sort],)
