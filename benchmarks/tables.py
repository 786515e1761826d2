"""Tables: the goals, and the throughput of every contender under every load."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.cells import spread
from benchmarks.contenders.contender import ALL_CORES, LIMITS, OURS, OURS_BF16, OURS_ENDPOINT, OURS_HTTP
from benchmarks.goals import Verdict
from benchmarks.loads import IMAGES, TEXTS, Load, direct, noun
from benchmarks.results import Results

_FIRST = (*LIMITS, OURS, OURS_HTTP, OURS_ENDPOINT, OURS_BF16)


@dataclass(frozen=True)
class Table:
    """A table as text. ``note`` is a sentence or two below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


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
    return Table(
        "Goals", ["goal", "measured", "result"], [[each.goal, each.measured or "-", each.result] for each in verdicts]
    )


def throughput_tables(results: Results) -> list[Table]:
    """Two tables for each content of loads, the limits and the servers; page.md explains the cells."""
    made = []
    for content in (*TEXTS, IMAGES):
        loads = [load for load in results.loads() if load.content == content]
        unit = noun(content, 2)
        if batches := [load for load in loads if not load.concurrency]:
            header = ["limit", *(f"batches of {load.rows}{', sorted' if load.sorted else ''}" for load in batches)]
            rows = [[name, *(_rate(results, name, load) for load in batches)] for name in LIMITS]
            made.append(Table(f"Limits, {unit} per second", header, rows))
        if requests := [load for load in loads if load.concurrency]:
            found = dict.fromkeys(name for load in requests for name in results.names(load))
            names = [name for name in _FIRST if name in found] + [name for name in found if name not in _FIRST]
            header = ["server", *(f"{load.rows} per request, {load.concurrency} at once" for load in requests)]
            rows = [[name, *(_rate_and_share(results, name, load) for load in requests)] for name in names]
            made.append(Table(f"Servers, {unit} per second", header, rows))
    return made


def _rate(results: Results, name: str, load: Load) -> str:
    rates = [cell.throughput for cell in results.cells(name, load).values()]
    return spread(rates, 0 if median(rates) >= 100 else 1) if rates else "-"


def _rate_and_share(results: Results, name: str, load: Load) -> str:
    limits = (ALL_CORES,) if load.concurrency == 1 else LIMITS
    batches = [each for each in direct(load.content) if not each.sorted]
    if load.concurrency == 1:
        batches = [each for each in batches if each.rows == load.rows]
    ratio = results.ratio((name, load), [(limit, each) for limit in limits for each in batches])
    return _rate(results, name, load) + (f", {ratio.median:.2f}" if ratio else "")
