"""The measurements of :mod:`benchmarks.start` as tables for docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import Any

from benchmarks.start_cold import ColdStart
from benchmarks.start_growth import CONNECTIONS, Grown
from benchmarks.start_phases import Phases

Rounds = Mapping[str, Sequence[ColdStart]]


@dataclass(frozen=True)
class Size:
    """Bytes of an archive, and of the same without its weights."""

    whole: int
    without_weights: int


def cold_starts(rounds: Rounds) -> dict[str, Any]:
    columns: dict[str, Callable[[ColdStart], float]] = {
        "archive unpacked, s": lambda cold: cold.extract,
        "POST /models, s": lambda cold: cold.load,
        "of it packed environments, s": lambda cold: sum(cold.details.environments),
        "first answer, s": lambda cold: cold.first,
        "whole, s": lambda cold: cold.total,
        "processor time, s": lambda cold: cold.processor,
        "second answer, s": lambda cold: cold.second,
    }
    rows = [
        [name, *(f"{median(map(column, colds)):.2f}" for column in columns.values()), _spread(colds)]
        for name, colds in rounds.items()
    ]
    note = (
        "Medians. Archives are unpacked by the local endpoint's own code. Packed environments: from 'Extracting Python "
        "execution env' in Triton's verbose log to the first stub that starts in it, one after the other. Processor "
        "time: user and system time of all processes, which other work on the machine disturbs less."
    )
    return _table("Cold start: from the archive to the first answer", ["", *columns, "whole, range"], rows, note)


def steps(rounds: Rounds) -> dict[str, Any]:
    rows = []
    for name, colds in rounds.items():
        for step in colds[0].details.steps:
            loads = [cold.details.steps[step] for cold in colds]
            phases = [cold.phases[step] for cold in colds if step in cold.phases]
            seconds = [
                median(load.auto_complete for load in loads),
                median(max(load.instances.values()) for load in loads),
                *(median(getattr(each, phase.name) for each in phases) for phase in fields(Phases)),
            ]
            rows.append([name, step.partition(".")[2], len(loads[0].instances), *(f"{each:.2f}" for each in seconds)])
    header = ["", "step", "instances", "stub for auto-completion, s", "stub of an instance, s"]
    header += ["interpreter, s", "numpy, s", "imports of model.py, s", "initialize, s"]
    note = (
        "Stubs: from Triton's verbose log; the steps load side by side. The last four columns: the step's own files in "
        "its own Python, in a process of its own; initialize makes the tokenizer or the engine's session."
    )
    return _table("Inside POST /models: each step", header, rows, note)


def sizes(found: Mapping[str, Size]) -> dict[str, Any]:
    rows = [[name, f"{size.whole / 1e6:.1f}", f"{size.without_weights / 1e6:.1f}"] for name, size in found.items()]
    note = "Without weights: packed again without the file that the engine runs."
    return _table("Archives", ["", "MB", "MB without weights"], rows, note)


def memory(rounds: Rounds) -> dict[str, Any]:
    rows = []
    for name, colds in rounds.items():
        processes = colds[-1].memory
        rows += [[name, process, f"{median(c.memory[process] for c in colds) / 2**20:.0f}"] for process in processes]
        rows.append([name, "all", f"{median(sum(cold.memory.values()) for cold in colds) / 2**20:.0f}"])
    note = "PSS after two requests; a page that several processes share counts once among them."
    return _table("Memory of one loaded ensemble", ["", "process", "MiB"], rows, note)


def growth(name: str, rows: Sequence[Grown]) -> dict[str, Any]:
    cells = [
        [
            row.loaded,
            f"{row.load:.2f}",
            f"{row.memory / 2**20:.0f}",
            f"{row.throughput:.0f}",
            f"{row.throughput / rows[0].throughput:.2f}",
        ]
        for row in rows
    ]
    note = f"One text a request, {CONNECTIONS} connections, requests spread over all loaded ensembles in turns."
    header = ["loaded", "POST /models, s", "PSS, MiB", "requests/s", "of one ensemble's"]
    return _table(f"Clones of {name} in one server", header, cells, note)


def ratio(ours: Sequence[ColdStart], theirs: Sequence[ColdStart], value: Callable[[ColdStart], float]) -> float:
    """Theirs through ours, the median over the rounds, each round with its neighbour in time."""
    return round(median(value(their) / value(our) for our, their in zip(ours, theirs, strict=True)), 2)


def _spread(colds: Sequence[ColdStart]) -> str:
    totals = [cold.total for cold in colds]
    return f"{min(totals):.2f} to {max(totals):.2f}"


def _table(title: str, header: list[str], rows: list[list[Any]], note: str) -> dict[str, Any]:
    return {"title": title, "header": header, "rows": rows, "note": note}
