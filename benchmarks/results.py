"""The results of a run and its circumstances: kept as JSON, with medians and ratios."""

import json
import platform
import statistics
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell, Measurement
from benchmarks.loads import Load
from triton_ensembles.files import write_whole
from triton_ensembles.perf.facts import machine
from triton_ensembles.triton.home import VERSION

_PACKAGES = ("onnxruntime", "openvino", "tensorflow-cpu", "nvidia-dali-cuda130", "tokenizers", "numpy")


def facts_of(command: str) -> dict[str, Any]:
    """Date, machine and versions of a run that was started with ``command``."""
    versions = {"tritonserver": VERSION, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": date, "command": command, "machine": machine(), "versions": versions}


@dataclass(frozen=True)
class Ratio:
    """The median of the rounds' ratios, the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.lowest:.2f} to {self.highest:.2f})"


@dataclass
class Results:
    """One run.

    Attributes:
        facts: date, command, machine, versions, weights, rounds, seconds.
        contenders: what each is in words, by name and content of the load.
        missing: contenders that could not take part, and why.
        agreement: of each ensemble with precision bf16 with fp32 (:func:`benchmarks.bf16.agreement`).
        measured: every cell of every round.
    """

    facts: dict[str, Any]
    contenders: dict[str, dict[str, str]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    agreement: dict[str, dict[str, float]] = field(default_factory=dict)
    measured: list[Measurement] = field(default_factory=list)

    def names(self, load: Load) -> list[str]:
        """The contenders that were measured under the load, in the order of the run."""
        return list(dict.fromkeys(each.contender for each in self.measured if each.load == load))

    def loads(self) -> list[Load]:
        return sorted({each.load for each in self.measured})

    def cells(self, contender: str, load: Load) -> dict[int, Cell]:
        """By round."""
        return {each.round: each.cell for each in self.measured if (each.contender, each.load) == (contender, load)}

    def throughput(self, contender: str, load: Load) -> float | None:
        """Rows per second, the median of the rounds; None when it was not measured."""
        return self.median(contender, load, lambda cell: cell.throughput)

    def median(self, contender: str, load: Load, value: Callable[[Cell], float]) -> float | None:
        cells = self.cells(contender, load)
        return statistics.median(value(cell) for cell in cells.values()) if cells else None

    def best(self, candidates: Iterable[tuple[str, Load]]) -> tuple[str, Load] | None:
        """The candidate with the highest median throughput."""
        known = {each: found for each in candidates if (found := self.throughput(*each)) is not None}
        return max(known, key=lambda each: known[each]) if known else None

    def ratio(self, over: tuple[str, Load], under: Iterable[tuple[str, Load]]) -> Ratio | None:
        """Throughput of ``over`` divided by that of the best of ``under``; None when one of them was not measured.

        Each round is compared with itself: on a shared machine the speed of all contenders drifts together.
        """
        best = self.best(under)
        if best is None:
            return None
        numerators, denominators = self.cells(*over), self.cells(*best)
        ratios = [
            cell.throughput / denominators[number].throughput
            for number, cell in numerators.items()
            if number in denominators
        ]
        return Ratio(statistics.median(ratios), min(ratios), max(ratios)) if ratios else None

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(path) as partial:
            partial.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read_results(path: Path) -> Results:
    value: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Results(**{**value, "measured": [Measurement.from_json(each) for each in value["measured"]]})
