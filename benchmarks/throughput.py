"""Throughput, latency and cores of the servers, beside the floor and the limit."""

from collections.abc import Iterable, Iterator
from statistics import mean, median

from benchmarks.contenders.contender import ECHO, LIMITS
from benchmarks.floor import floor
from benchmarks.loads import Load
from benchmarks.parts import BATCHES, PARTS, Part
from benchmarks.results import Results
from benchmarks.tables import Table

_NOTE = "Rows a second: the median of the rounds, in parentheses the lowest and the highest."


def throughput_table(results: Results) -> Table:
    """For each load of servers first the bounds, then the servers."""
    tables = ((str(load), _rows(results, part, load)) for part in PARTS.values() for load in part.served)
    rows = [["" if number else label, *row] for label, table in tables for number, row in enumerate(table)]
    return Table("Throughput", ["", "", "rows a second", "p50, ms", "client, cores", "others, cores"], rows, _NOTE)


def _rows(results: Results, part: Part, load: Load) -> Iterator[list[str]]:
    limit = results.best(LIMITS, BATCHES[load]) if part.limit else {}
    for name, rates in (("limit", limit), ("floor", floor(results, load))):
        if rates:
            yield [name, rate(rates.values()), "", "", ""]
    for name in results.names(load):
        if name != ECHO:
            cells = [*results.cells(name, load).values()]
            client, others = mean(cell.client for cell in cells), mean(cell.others for cell in cells)
            latency = f"{median(cell.p50_ms for cell in cells):.1f}"
            throughput = rate(cell.throughput for cell in cells)
            yield [name, throughput, latency, f"{client:.2f}", f"{others:.2f}"]


def rate(rates: Iterable[float]) -> str:
    """The median, the lowest and the highest, with a digit after the point for what is below 100."""
    values = list(rates)
    middle, least, most = (
        f"{value:.{0 if median(values) >= 100 else 1}f}" for value in (median(values), min(values), max(values))
    )
    return f"{middle} ({least} to {most})"
