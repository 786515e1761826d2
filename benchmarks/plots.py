"""Three plots: throughput by concurrency, latency percentiles, and the share of each step in a request's time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from matplotlib import colormaps
from matplotlib.figure import Figure  # without pyplot there is no global state and no window: PNG is drawn by Agg
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.cells import PERCENTILES
from benchmarks.contenders.contender import LIMITS, OURS, OURS_BF16, REFERENCE
from benchmarks.loads import Load, served
from benchmarks.results import Results
from triton_ensembles.files import write_whole

INK = "#333333"
_SINGLE = [load for load in served("short") if load.rows == 1]
_WHERE = (OURS, OURS_BF16, REFERENCE)
_COLORS = colormaps["tab10"]


def throughput(results: Results) -> Figure | None:
    """Short sentences, one per request; the limits as horizontal lines."""
    names = _names(results, _SINGLE)
    if not names:
        return None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for number, name in enumerate(names):
        rates = [results.throughput(name, load) or float("nan") for load in _SINGLE]
        axes.plot(range(len(_SINGLE)), rates, "o-", color=_COLORS(number % 10), label=name)
    for rows, style in ((1, ":"), (32, "--")):
        best = results.best([(limit, Load("short", rows, 0)) for limit in LIMITS])
        if best is not None:
            label = f"limit at batch {rows}"
            axes.axhline(results.throughput(*best) or 0, color=INK, linestyle=style, linewidth=1, label=label)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_xticks(range(len(_SINGLE)), [str(load.concurrency) for load in _SINGLE])
    axes.set_xlabel("concurrent requests")
    axes.set_title("short sentences per second, one per request", fontsize=11, loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def latency(results: Results) -> Figure | None:
    """Short sentences, one per request: a panel for each concurrency, a line of percentiles for each contender."""
    names = _names(results, _SINGLE)
    if not names:
        return None
    figure = Figure(figsize=(11, 4), layout="constrained")
    panels = figure.subplots(1, len(_SINGLE))
    for axes, load in zip(panels, _SINGLE, strict=True):
        for number, name in enumerate(names):
            if name in results.names(load):
                values = [
                    results.median(name, load, lambda cell, p=percent: cell.latency_ms[f"p{p}"])  # type: ignore[misc]
                    for percent in PERCENTILES
                ]
                axes.plot(range(len(values)), values, "o-", markersize=3, color=_COLORS(number % 10), label=name)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(range(len(PERCENTILES)), [f"p{percent}" for percent in PERCENTILES])
        axes.set_title(f"ms, concurrency {load.concurrency}", fontsize=10, loc="left", color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, fontsize=8, loc="outside right center")
    return figure


def steps(results: Results) -> Figure | None:
    """Ours and the reference: a bar for each load, the average request's time in queue and compute of each step."""
    bars = [
        (name, load)
        for load in results.loads()
        for name in _WHERE
        if name in results.names(load) and load.content != "long"
    ]
    if not bars:
        return None
    figure = Figure(figsize=(10, 0.8 + 0.3 * len(bars)), layout="constrained")
    axes = figure.add_subplot()
    colors: dict[str, int] = {}
    for place, (name, load) in enumerate(bars):
        parts = _parts(results, name, load)
        total, left = sum(parts.values()), 0.0
        for part, value in parts.items():
            step, _, what = part.partition(": ")
            color = _COLORS(colors.setdefault(step, len(colors)) % 10) if what else "#c8c8c8"
            label = part if part not in axes.get_legend_handles_labels()[1] else None
            hatch, alpha = ("////", 0.45) if what == "queue" else ("", 1.0)
            axes.barh(
                place, value / total, 0.75, left, color=color, hatch=hatch, alpha=alpha, edgecolor="white", label=label
            )
            left += value / total
        axes.annotate(f"{total:.1f} ms", (1, place), (4, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(range(len(bars)), [f"{name}: {load}" for name, load in bars], fontsize=7)
    axes.margins(y=0.01)
    axes.invert_yaxis()
    axes.set_xticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("share of the average latency by step", fontsize=10, loc="left", color=INK)
    figure.legend(frameon=False, fontsize=7, loc="outside right center")
    return figure


PLOTS: Mapping[str, tuple[Callable[[Results], Figure | None], str]] = {
    "throughput": (
        throughput,
        "Short sentences per second, one per request, by concurrency; dashed and dotted: the limit",
    ),
    "latency": (latency, "Latency percentiles of the same requests, by concurrency"),
    "steps": (steps, "Share of each step in a request's time"),
}
"""Each with its caption."""


def write_plots(results: Results, folder: Path, prefix: str) -> dict[str, str]:
    """PREFIXNAME.png for each plot that the results have data for; their captions by file name."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, (draw, caption) in PLOTS.items():
        figure = draw(results)
        if figure is not None:
            with write_whole(folder / f"{prefix}{name}.png") as partial:
                figure.savefig(partial, format="png", dpi=110, metadata={"Software": None})
            written[f"{prefix}{name}.png"] = caption
    return written


def _names(results: Results, loads: Sequence[Load]) -> list[str]:
    return list(dict.fromkeys(name for load in loads for name in results.names(load)))


def _parts(results: Results, name: str, load: Load) -> dict[str, float]:
    """Milliseconds of the average request by "step: queue" and "step: compute"; "rest" is outside of all steps."""
    cells = list(results.cells(name, load).values())
    found: dict[str, float] = {}
    for step in cells[0].steps_ms:
        if step != "request":
            for what in ("queue", "compute"):
                found[f"{step}: {what}"] = sum(cell.steps_ms[step][what] for cell in cells) / len(cells)
    whole = sum(cell.steps_ms["request"]["client"] for cell in cells) / len(cells)
    found["rest"] = max(0.0, whole - sum(found.values()))
    return found
