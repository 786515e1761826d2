"""The measurements of :mod:`benchmarks.start` as tables for docs/performance.md."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from benchmarks.start_cold import ColdStart
from benchmarks.start_growth import CONNECTIONS, GrowthPoint
from benchmarks.tables import Table

Rounds = Mapping[str, Sequence[ColdStart]]


def cold_starts(rounds: Rounds) -> Table:
    columns: dict[str, Callable[[ColdStart], float]] = {
        "archive unpacked, s": lambda cold: cold.extract,
        "POST /models, s": lambda cold: cold.load,
        "first answer, s": lambda cold: cold.first,
        "total, s": lambda cold: cold.total,
        "processor time, s": lambda cold: cold.processor,
        "second answer, s": lambda cold: cold.second,
    }
    rows = []
    for name, colds in rounds.items():
        totals = [cold.total for cold in colds]
        medians = (f"{median(map(column, colds)):.2f}" for column in columns.values())
        rows.append([name, *medians, f"{min(totals):.2f} to {max(totals):.2f}"])
    note = (
        "Medians. Archives are unpacked by the local endpoint's own code. Processor time: user and system time of all "
        "processes until the first answer, which other work on the machine affects less."
    )
    return Table("Cold start: from the archive to the first answer", ["", *columns, "total, range"], rows, note)


def sizes(found: Mapping[str, tuple[int, int]]) -> Table:
    """Of each archive: bytes, and bytes without the weights."""
    rows = [[name, *(f"{size / 1e6:.1f}" for size in both)] for name, both in found.items()]
    note = "Without weights: packed again without the file that the engine runs."
    return Table("Archives", ["", "MB", "MB without weights"], rows, note)


def memory(rounds: Rounds) -> Table:
    """A row per ensemble; the processes in the order of their start."""
    rows = []
    for name, colds in rounds.items():
        processes = [f"{each} {_mib(cold.memory[each] for cold in colds)}" for each in colds[-1].memory]
        rows.append([name, _mib(sum(cold.memory.values()) for cold in colds), ", ".join(processes)])
    note = "PSS after two requests; a page that several processes share counts once among them."
    return Table("Memory of one loaded ensemble", ["", "MiB", "of them, by process"], rows, note)


def growth(name: str, found: Sequence[GrowthPoint]) -> Table:
    rows = [
        [
            str(each.loaded),
            f"{each.load:.2f}",
            f"{each.memory / 2**20:.0f}",
            f"{each.throughput:.0f}",
            f"{each.throughput / found[0].throughput:.2f}",
        ]
        for each in found
    ]
    note = f"One text per request, {CONNECTIONS} connections, requests spread evenly over all loaded ensembles."
    header = ["loaded", "POST /models, s", "PSS, MiB", "requests per second", "relative to one"]
    return Table(f"Clones of {name} in one server", header, rows, note)


def ratio(ours: Sequence[ColdStart], theirs: Sequence[ColdStart]) -> float:
    """Their total time divided by ours, the median over the rounds, each round compared with itself."""
    return round(median(their.total / our.total for our, their in zip(ours, theirs, strict=True)), 2)


def _mib(values: Iterable[int]) -> str:
    return f"{median(values) / 2**20:.0f}"
