"""The plot of a sweep: throughput, latency, and the share of each step in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure  # without pyplot: no global state, no display
from matplotlib.ticker import LogLocator, NullFormatter

from triton_ensembles.measuring.perf.sweep_report import Report

_INK = "#333333"
_GRAY = "#c8c8c8"
_PALE = "#e6e6e6"
_PROTOCOLS = {"grpc": "gRPC", "http": "HTTP"}
_LABEL: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "fontsize": 8, "color": _INK}
SMALLEST_LABEL = 0.06  # of a bar's height; thinner parts get no number


def draw(report: Report, path: Path) -> None:
    """Write a PNG of 1500 x 1200 pixels to ``path``."""
    figure = Figure(figsize=(10, 8), dpi=150, layout="constrained")
    # Two subfigures, because the legend beside the bars would otherwise narrow the panels above as well.
    grid = figure.add_gridspec(2, 1, height_ratios=(1, 1.25))
    above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    _throughput(above.add_subplot(1, 2, 1), report)
    _latency(above.add_subplot(1, 2, 2), report)
    _shares(below.add_subplot(), report)
    _save(figure, report, path)


def _save(figure: Figure, measured: Report, path: Path) -> None:
    """Write the figure as a PNG with the conditions of the measurement: above in a title, below in full."""
    rows = "1 row" if measured.batch == 1 else f"{measured.batch} rows"
    figure.suptitle(
        f"{measured.name}: {rows} per request over {_PROTOCOLS[measured.protocol]}", fontsize=14, color=_INK
    )
    machine = measured.machine
    figure.supxlabel(
        f"{machine['cores']} cores of {machine['processor']}, tritonserver {measured.versions['tritonserver']}, "
        f"{measured.date[:10]}; target {measured.target}, {measured.weights} weights; {measured.input}",
        fontsize=7,
        color="#777777",
    )
    figure.savefig(path, format="png", metadata={"Software": None})


def _throughput(axes: Axes, report: Report) -> None:
    values = [point.client.throughput for point in report.points]
    axes.plot(range(len(values)), values, "o-", color="#0072b2")
    for place, value in enumerate(values):
        axes.annotate(f"{value:.0f}" if value >= 100 else f"{value:.1f}", (place, value), (0, 7), **_LABEL)
    axes.set_ylim(0, max(values) * 1.2)
    _label_axes(axes, report, "inferences per second")


def _latency(axes: Axes, report: Report) -> None:
    for name, color, style in (("p99", "#d55e00", "o--"), ("p50", "#0072b2", "o-")):
        values = [getattr(point.client, f"{name}_ms") for point in report.points]
        axes.plot(range(len(values)), values, style, color=color, label=name)
    for place, point in enumerate(report.points):
        axes.annotate(f"{point.client.p99_ms:.0f}", (place, point.client.p99_ms), (0, 7), **_LABEL)
        axes.annotate(f"{point.client.p50_ms:.0f}", (place, point.client.p50_ms), (0, -14), **_LABEL)
    low = min(point.client.p50_ms for point in report.points)
    high = max(point.client.p99_ms for point in report.points)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(low / 2, high * 2)
    axes.legend(loc="upper left", frameon=False)
    _label_axes(axes, report, "latency, ms (logarithmic)")


def _shares(axes: Axes, report: Report) -> None:
    """Bars of equal height: at high concurrency the queue is so long that the rest would be invisible in ms."""
    totals = [sum(times) for times in zip(*(times for times, _ in _parts(report)), strict=True)]
    bottoms = [0.0] * len(totals)
    for times, style in _parts(report):
        shares = [time / total for time, total in zip(times, totals, strict=True)]
        axes.bar(range(len(totals)), shares, 0.72, bottoms, edgecolor="white", linewidth=0.6, **style)
        for place, (share, bottom) in enumerate(zip(shares, bottoms, strict=True)):
            if share >= SMALLEST_LABEL:
                box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
                number = f"{times[place]:.1f}"
                axes.text(place, bottom + share / 2, number, ha="center", va="center", fontsize=8, color=_INK, bbox=box)
        bottoms = [bottom + share for bottom, share in zip(bottoms, shares, strict=True)]
    for place, point in enumerate(report.points):
        batches = " / ".join(f"{step.batch:.1f}" for step in point.steps)
        axes.annotate(f"{point.client.avg_ms:.1f} ms", (place, 1), (0, 14), **_LABEL)
        axes.annotate(f"batch {batches}", (place, 1), (0, 4), **_LABEL | {"fontsize": 7})
    axes.set_ylim(0, 1.16)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=9)
    _label_axes(axes, report, "share of the mean latency, numbers in ms; batch: mean rows per execution of each step")


def _parts(report: Report) -> Iterator[tuple[list[float], dict[str, Any]]]:
    """The parts of the bars from the bottom up, as times in ms at each concurrency and the style of the part.

    They are the ensemble's own queue or that of each step (pale, hatched), each step's compute (full color), then the
    rest.
    """
    if own := [point.queue_ms for point in report.points if point.queue_ms is not None]:
        yield own, {"label": "queue", "color": _PALE, "hatch": "////"}
    palette = colormaps["tab10"]
    for index, step in enumerate(report.steps):
        red, green, blue, _ = palette(index % 10)
        pale = tuple(0.45 * channel + 0.55 for channel in (red, green, blue))
        times = [point.steps[index] for point in report.points]
        if waited := [time.queue_ms for time in times if time.queue_ms is not None]:
            yield waited, {"label": f"{step}: queue", "color": pale, "hatch": "////"}
        yield ([time.compute_ms for time in times], {"label": f"{step}: compute", "color": (red, green, blue)})
    yield [point.rest_ms for point in report.points], {"label": "client, network, scheduler", "color": _GRAY}


def _label_axes(axes: Axes, report: Report, title: str) -> None:
    points = report.points
    axes.set_xticks(range(len(points)), [str(point.client.concurrency) for point in points])
    axes.set_xlim(-0.6, len(points) - 0.4)
    axes.set_xlabel("concurrent requests")
    axes.set_title(title, fontsize=11, loc="left", color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
