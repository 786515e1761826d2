"""The plot of a search: the throughput and the p99 of every candidate, and the front."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure  # without pyplot: no global state, no display

from triton_ensembles.measuring.perf.plot import GRAY, INK, logarithmic_latency, save
from triton_ensembles.measuring.tuning.records import Trial
from triton_ensembles.measuring.tuning.space import PRESENT
from triton_ensembles.measuring.tuning.tuning_report import TuningReport

_BEST, _PRESENT, _BOUND = "#0072b2", "#d55e00", "#009e73"


def draw(report: TuningReport, path: Path) -> None:
    """Write a PNG of 1500 x 900 pixels to ``path``."""
    figure = Figure(figsize=(10, 6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    records, outcome = report.outcome.records, report.outcome
    usable = [trial for trial in records.trials() if trial.candidate not in records.dropped]
    _points(axes, usable, {"color": GRAY, "label": "measured"})
    ahead = records.front()
    axes.step(*_coordinates(ahead), where="pre", color=INK, linewidth=1, label="front", zorder=1)
    _points(axes, records.of(PRESENT), {"color": _PRESENT, "label": "present settings"})
    if outcome.best != PRESENT:
        _points(axes, records.of(outcome.best), {"color": _BEST, "label": "best settings"})
    for trial in ahead:
        place = (trial.point.throughput, trial.point.p99_ms)
        text = str(trial.point.concurrency)
        axes.annotate(text, place, (0, 7), textcoords="offset points", ha="center", fontsize=8, color=INK)
    if report.goal.p99_ms is not None:
        axes.axhline(report.goal.p99_ms, color=_BOUND, linestyle="--", linewidth=1, label="wanted")
    if report.goal.throughput is not None:
        label = None if report.goal.p99_ms is not None else "wanted"
        axes.axvline(report.goal.throughput, color=_BOUND, linestyle="--", linewidth=1, label=label)
    latencies = [trial.point.p99_ms for trial in usable]
    logarithmic_latency(axes, min(latencies) / 1.5, max(latencies) * 2)
    axes.set_xlim(left=0)
    axes.set_xlabel("inferences per second")
    axes.set_ylabel("p99 latency, ms (logarithmic)")
    axes.legend(loc="upper left", frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("numbers: concurrent requests on the front", fontsize=9, loc="left", color=INK)
    save(figure, report, path)


def _points(axes: Axes, trials: Iterable[Trial], style: dict[str, Any]) -> None:
    axes.plot(*_coordinates(trials), "o", markersize=5, **style)


def _coordinates(trials: Iterable[Trial]) -> tuple[list[float], list[float]]:
    points = [trial.point for trial in trials]
    return [point.throughput for point in points], [point.p99_ms for point in points]
