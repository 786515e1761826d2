"""Results of runs that never were, for what is computed from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.cells import Cell, Measurement
from benchmarks.loads import Load
from benchmarks.results import Results

FACTS = {
    "date": "2026-01-02T03:04:05+00:00",
    "command": "python -m benchmarks.bench --only one --rounds 3",
    "rounds": 3,
    "seconds": 2.5,
    "minutes": 2.5,
    "machine": {"cores": 2, "processor": "any", "memory_gib": 24, "system": "Linux", "load_average_before": 0.1},
    "versions": {"tritonserver": "2.51.0"},
    "weights": {"bert_trt": "pretrained"},
}
CPU = {"client": 0.5, "server": 1.0}
"""Cores in use in every cell."""


def run_of(throughputs: Mapping[tuple[str, Load], Sequence[float]]) -> Results:
    """A part with these throughputs, by round, of each contender under each load."""
    results = Results(FACTS)
    for (name, load), rates in throughputs.items():
        latency = dict.fromkeys(("p50", "p90", "p95", "p99"), 5.0)
        for number, rate in enumerate(rates, start=1):
            results.measured.append(Measurement(number, name, load, Cell(rate, latency, CPU)))
    return results
