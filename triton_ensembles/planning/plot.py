"""The plot of a plan: what each choice costs, and how many requests are cold."""

from pathlib import Path

from matplotlib.figure import Figure  # without pyplot: no global state, no display

from triton_ensembles.files import write_whole
from triton_ensembles.perf.plot import GRAY, INK
from triton_ensembles.planning.plan import Plan

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LEAST = 0.01  # percent: nothing cold


def draw(plan: Plan, path: Path) -> None:
    """Write a picture of 1500 x 900 pixels to ``path``: PNG, SVG or PDF, by its name."""
    figure = Figure(figsize=(10, 6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    series: dict[str, list[tuple[float, float, int, bool]]] = {}
    for each in plan.choices:
        name = f"{each.host.name} {each.form}".rstrip()
        series.setdefault(name, []).append((each.month, each.day.cold * 100, each.count, bool(each.peak.overload)))
    for number, (name, points) in enumerate(series.items()):
        color = _COLORS[number % len(_COLORS)]
        kept = [point for point in points if not point[3]]
        axes.plot(
            [x for x, _, _, _ in points], [max(y, _LEAST) for _, y, _, _ in points], "-", color=color, linewidth=1
        )
        axes.plot([x for x, _, _, _ in kept], [max(y, _LEAST) for _, y, _, _ in kept], "o", color=color, label=name)
        for x, y, count, crowded in points:
            axes.annotate(str(count), (x, max(y, _LEAST)), (0, 7), textcoords="offset points", ha="center", fontsize=8)
            if crowded:
                axes.plot([x], [max(y, _LEAST)], "x", color=color)
    for alone in plan.dedicated:
        if alone.instances:
            name = f"one endpoint a model, {alone.host.name} {alone.form}".rstrip()
            axes.plot([alone.month], [_LEAST], "s", color=GRAY, label=name)
    if plan.goal.cold is not None:
        axes.axhline(max(plan.goal.cold * 100, _LEAST), color=GRAY, linestyle="--", linewidth=1, label="wanted")
    if plan.best is not None:
        axes.plot(
            [plan.best.month], [max(plan.best.day.cold * 100, _LEAST)], "o", color=INK, markersize=12, fillstyle="none"
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("${x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g} %")
    axes.set_ylim(_LEAST * 0.7, 150)
    axes.set_xlabel("US dollars for a month of 720 hours (logarithmic)")
    axes.set_ylabel("cold requests (logarithmic; the lowest: none)")
    axes.legend(loc="best", frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(
        "numbers: instances; x: does not keep up; circle: the cheapest that meets the goal", fontsize=9, loc="left"
    )
    figure.suptitle(plan.traffic.text, fontsize=13, color=INK)
    kind = path.suffix.lower().removeprefix(".")
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(path) as partial:
        figure.savefig(partial, format=kind, metadata={"Date": None} if kind == "svg" else None)
