"""The results of the parts and their circumstances: kept as JSON, with medians and ratios."""

import json
import platform
import statistics
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell, Measurement
from benchmarks.loads import Load
from benchmarks.tables import Table
from triton_ensembles.ground.files import write_file
from triton_ensembles.measuring.perf.facts import machine
from triton_ensembles.triton.pip_server import VERSION

Rates = Mapping[int, float]
"""Rows per second by round."""

_PACKAGES = ("onnxruntime", "openvino", "tensorflow-cpu", "nvidia-dali-cuda130", "tokenizers", "numpy")


def facts_of(command: str) -> dict[str, Any]:
    """Date, machine and versions of a run that was started with ``command``."""
    versions = {"tritonserver": VERSION, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": date, "command": command, "machine": machine(), "versions": versions}


def ratio_of(over: Rates, under: Rates) -> float | None:
    """The median of the quotients of two rates; None when no round has both.

    Each round is compared with itself: on a shared machine the speed of all contenders drifts together.
    """
    ratios = [rate / under[number] for number, rate in over.items() if number in under]
    return statistics.median(ratios) if ratios else None


@dataclass
class Results:
    """One part, or several whose loads differ.

    Attributes:
        facts: date, command, machine, versions, weights, rounds, seconds.
        contenders: engine and versions of each in words, by name.
        missing: contenders that could not take part, and why.
        cosines: the lowest one of the vectors to those in fp32, by ensemble and precision, "bert_trt_bf16".
        measured: every cell of every round.
        tables: of figures that are not throughput: MiB of each loaded ensemble, seconds of a cold start.
    """

    facts: dict[str, Any]
    contenders: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    cosines: dict[str, float] = field(default_factory=dict)
    measured: list[Measurement] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def names(self, load: Load) -> list[str]:
        """The contenders that were measured under the load, in the order of the run."""
        return list(dict.fromkeys(point.contender for point in self.measured if point.load == load))

    def cells(self, contender: str, load: Load) -> dict[int, Cell]:
        """The cells by round."""
        return {
            point.round: point.cell for point in self.measured if (point.contender, point.load) == (contender, load)
        }

    def rates(self, contender: str, load: Load) -> Rates:
        return {number: cell.throughput for number, cell in self.cells(contender, load).items()}

    def best(self, contenders: Iterable[str], load: Load) -> Rates:
        """The rates with the highest median; empty when none was measured."""
        measured = (rates for name in contenders if (rates := self.rates(name, load)))
        return max(measured, key=lambda rates: statistics.median(rates.values()), default={})

    def write(self, path: Path) -> None:
        write_file(path, json.dumps(asdict(self), indent=1) + "\n")


def joined(parts: Iterable[Results]) -> Results:
    """All parts in one; the facts are those of the first that has any of a kind."""
    whole = Results({})
    for part in parts:
        whole.facts = part.facts | whole.facts | {"weights": whole.facts.get("weights", {}) | part.facts["weights"]}
        whole.contenders |= part.contenders
        whole.missing |= part.missing
        whole.cosines |= part.cosines
        whole.measured += part.measured
        whole.tables += part.tables
    return whole
