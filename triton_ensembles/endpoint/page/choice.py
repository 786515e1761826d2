"""The view that a visitor of the status page has chosen, as its URL says it: ``/?filter=bert&sort=memory&rows=all``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

SORTS = ("name", "state", "in-use", "hits", "misses", "memory", "disk", "last-used", "cold-start")
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
