"""Tables: the goals, and every load with all its contenders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.contenders.names import ALL_CORES, LIMITS, OURS, OURS_BF16, OURS_ENDPOINT, OURS_HTTP
from benchmarks.goals import Verdict
from benchmarks.loads import IMAGES, TEXTS, Load
from benchmarks.results import Results

_FIRST = (*LIMITS, OURS, OURS_HTTP, OURS_ENDPOINT, OURS_BF16)


@dataclass(frozen=True)
class Table:
    """A table as text. ``note`` is a sentence or two below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Table:
        """{"title", "header", "rows", "note"}; cells may be numbers."""
        rows = [[str(cell) for cell in row] for row in value["rows"]]
        return cls(value["title"], value["header"], rows, value.get("note", ""))


def markdown(table: Table, level: int = 3) -> str:
    """With the title as a heading of this level."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    note = f"\n\n{table.note}" if table.note else ""
    return f"{'#' * level} {table.title}\n\n{body}{note}\n"


def plain(table: Table) -> str:
    """For a terminal."""
    rows = [table.header, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.header))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join([table.title, *lines])


def goals_table(verdicts: Sequence[Verdict]) -> Table:
    rows = [[each.goal, each.least, each.measured or "-", each.against or "-", each.word] for each in verdicts]
    return Table("Goals", ["load", "at least", "measured", "against", ""], rows)


def throughput_tables(results: Results) -> list[Table]:
    """One table for each content of loads: rows a second of every contender, and how many times the limit's."""
    made = []
    for content in (*TEXTS, IMAGES):
        loads = [load for load in results.loads() if load.content == content]
        if loads:
            made += [_limits(results, content, loads)] if any(not load.concurrency for load in loads) else []
            made += [_servers(results, content, loads)] if any(load.concurrency for load in loads) else []
    return made


def _limits(results: Results, content: str, loads: Sequence[Load]) -> Table:
    loads = [load for load in loads if not load.concurrency]
    header = ["limit", *(f"batches of {load.rows}{', sorted' if load.sorted else ''}" for load in loads)]
    rows = [[name, *(_rate(results, name, load) for load in loads)] for name in LIMITS]
    return Table(f"{content}: the limit, {_unit(content)} a second", header, rows)


def _servers(results: Results, content: str, loads: Sequence[Load]) -> Table:
    loads = [load for load in loads if load.concurrency]
    found = dict.fromkeys(name for load in loads for name in results.names(load))
    names = [name for name in _FIRST if name in found] + [name for name in found if name not in _FIRST]
    header = ["", *(f"{load.rows} a request, {load.concurrency} at once" for load in loads)]
    rows = [[name, *(_rate_of_limit(results, name, load) for load in loads)] for name in names]
    note = (
        "Median of the rounds (least to most); then how many times the limit's, of unsorted batches: where one request "
        "is under way, of its number of rows on all cores, one batch at a time; else the best."
    )
    return Table(f"{content}: servers, {_unit(content)} a second", header, rows, note)


def _unit(content: str) -> str:
    return "images" if content == IMAGES else "sentences"


def _rate(results: Results, name: str, load: Load) -> str:
    values = sorted(cell.throughput for cell in results.cells(name, load).values())
    if not values:
        return "-"
    median = results.throughput(name, load) or 0.0
    digits = 0 if median >= 100 else 1
    return f"{median:.{digits}f} ({values[0]:.{digits}f} to {values[-1]:.{digits}f})"


def _rate_of_limit(results: Results, name: str, load: Load) -> str:
    limits = (ALL_CORES,) if load.concurrency == 1 else LIMITS
    ratio = results.ratio((name, load), [(limit, each) for limit in limits for each in _comparable(results, load)])
    return _rate(results, name, load) + (f", {ratio.median:.2f}" if ratio else "")


def _comparable(results: Results, load: Load) -> list[Load]:
    """The limit's loads that a load is compared with."""
    known = [each for each in results.loads() if each.content == load.content and not each.concurrency]
    known = [each for each in known if not each.sorted]
    return [each for each in known if each.rows == load.rows] if load.concurrency == 1 else known
