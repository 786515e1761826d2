"""Throughput, latency and cores of every contender, a table for each load of servers."""

from collections.abc import Mapping, Sequence
from statistics import mean, median

from benchmarks.cells import Cell, spread
from benchmarks.floor import floor
from benchmarks.loads import Load, noun
from benchmarks.parts import PARTS
from benchmarks.results import Results
from benchmarks.tables import Table


def throughput_tables(measured: Mapping[str, Results]) -> list[Table]:
    """By part; in each table first what servers are compared with, then the servers."""
    return [
        _table(results, load)
        for part, results in measured.items()
        if part in PARTS
        for load in PARTS[part].served
        if results.names(load)
    ]


def _table(results: Results, load: Load) -> Table:
    batches = [each for each in results.loads() if not each.concurrency]
    same = [each for each in batches if each.rows == load.rows]
    rows = [_row(results, name, each) for each in same or batches for name in results.names(each)]
    if rates := floor(results, load):
        rows.append(["floor", _rate([*rates.values()]), "", "", ""])
    rows += [_row(results, name, load) for name in results.names(load)]
    header = ["", f"{noun(load.content, 2)} per second", "p50, ms", "client, cores", "others, cores"]
    return Table(f"{load}", header, rows)


def _row(results: Results, name: str, load: Load) -> list[str]:
    cells: Sequence[Cell] = [*results.cells(name, load).values()]
    client = mean(cell.cpu.get("client", 0.0) for cell in cells)
    cores = mean(sum(cell.cpu.values()) for cell in cells)
    return [
        name if load.concurrency else f"{name}, {load}",
        _rate([cell.throughput for cell in cells]),
        f"{median(cell.latency_ms['p50'] for cell in cells):.1f}",
        f"{client:.2f}" if load.concurrency else "",
        f"{cores - client:.2f}",
    ]


def _rate(rates: Sequence[float]) -> str:
    return spread(rates, 0 if median(rates) >= 100 else 1)
