"""A graph as a picture (SVG, PNG or PDF), drawn by matplotlib, without a display and without other programs."""

import io
from itertools import pairwise
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from triton_ensembles.graph.dag import Graph
from triton_ensembles.graph.layout import Layout, Node, layout

# Inches. The font is DejaVu Sans, which comes with matplotlib; its letters are about 0.6 of their size wide.
_LETTER, _SMALL, _LINE, _PORT, _ROW, _GAP, _EDGE, _TITLE = 0.082, 0.062, 0.17, 0.24, 0.95, 0.75, 0.25, 0.25
_COLORS = {
    "input": ("#e8f1fb", "#3b76b5"),
    "output": ("#e9f6ec", "#3a8a4d"),
    "inner": ("#f6f6f6", "#999999"),
    "step": ("#ffffff", "#222222"),
}
_WITHOUT_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


class _Box(NamedTuple):
    """A node on the page: its center, size (inches), text, and the key of its colors."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    kind: str

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


def picture(graph: Graph, format: str) -> bytes:
    """The bytes of an ``svg``, ``png`` or ``pdf``: steps as boxes, tensors as rounded ones with data type and dims.

    A label beside an arrow is the tensor's name in the step's model if it differs. The same graph gives the same bytes.
    """
    plan = layout(graph)
    boxes = _boxes(graph, plan)
    places = _ports(graph, plan, boxes)
    width = max(box.right for box in boxes.values()) + _EDGE
    low = min(box.y - box.height / 2 for box in boxes.values())
    high = max(box.y + box.height / 2 for box in boxes.values())
    figure = Figure(figsize=(width, high - low + 2 * _EDGE + _TITLE))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(low - _EDGE, high + _EDGE + _TITLE))
    axes.set_axis_off()
    axes.text(_EDGE, high + _EDGE, graph.name, fontsize=11, fontweight="bold", va="bottom")
    for edge, points in zip(graph.edges, places, strict=True):
        _draw_route(axes, points, edge.other_name, at_end=edge.kind == "read")
    for box in boxes.values():
        if box.lines:
            _draw_box(axes, box)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "graph"}):
        out = io.BytesIO()
        figure.savefig(out, format=format, dpi=160, metadata=_WITHOUT_DATE.get(format))
    return out.getvalue()


def _boxes(graph: Graph, plan: Layout) -> dict[Node, _Box]:
    """The box of every node; waypoints are boxes without text and height."""
    texts = _texts(graph)
    gaps = _gaps(graph, plan)
    heights = plan.heights()
    boxes: dict[Node, _Box] = {}
    x = _EDGE
    for number, column in enumerate(plan.columns):
        shown = [texts[node] for node in column if node in texts]
        column_width = max((_width(lines) for lines in shown), default=0.3)
        for node in column:
            lines = texts.get(node, [])
            ports = max(sum(route[end] == node for route in plan.routes) for end in (0, -1))
            height = max(len(lines) * _LINE + 0.2, ports * _PORT) if lines else 0.0
            width = _width(lines) if lines else column_width
            kind = graph.tensor(node).role if isinstance(node, str) else "step"
            boxes[node] = _Box(x + column_width / 2, heights[node] * _ROW, width, height, tuple(lines), kind)
        x += column_width + gaps[number]
    return boxes


def _gaps(graph: Graph, plan: Layout) -> list[float]:
    """The width of the space after each column, in inches: enough for the labels beside the arrows."""
    gaps = [_GAP] * len(plan.columns)
    rank = {node: number for number, column in enumerate(plan.columns) for node in column}
    for edge, route in zip(graph.edges, plan.routes, strict=True):
        column = rank[route[-1]] - 1 if edge.kind == "read" else rank[route[0]]
        gaps[column] = max(gaps[column], len(edge.other_name) * _SMALL + 0.45)
    return gaps


def _ports(graph: Graph, plan: Layout, boxes: dict[Node, _Box]) -> list[list[tuple[float, float]]]:
    """The points along each arrow. Several arrows at one side of a step are spread over it in order of height."""
    points = []
    for edge, route in zip(graph.edges, plan.routes, strict=True):
        first, last = boxes[route[0]], boxes[route[-1]]
        start, end = first.y, last.y
        index, near = (0, 1) if edge.kind == "write" else (-1, -2)
        same = sorted((boxes[other[near]].y for other in plan.routes if other[index] == edge.step), reverse=True)
        offset = ((len(same) - 1) / 2 - same.index(boxes[route[near]].y)) * _PORT
        start, end = (start + offset, end) if edge.kind == "write" else (start, end + offset)
        between = [(boxes[node].x, boxes[node].y) for node in route[1:-1]]
        points.append([(first.right, start), *between, (last.left, end)])
    return points


def _texts(graph: Graph) -> dict[Node, list[str]]:
    steps: dict[Node, list[str]] = {}
    for step in graph.steps:
        batch = f"batches of ≤{step.max_batch_size}" if step.max_batch_size else "no batching"
        steps[step.number] = [step.model, step.backend, batch] if step.backend else [step.model, "unknown model"]
    return steps | {tensor.name: [tensor.name, tensor.shape] for tensor in graph.tensors}


def _width(lines: list[str]) -> float:
    return max(len(line) for line in lines) * _LETTER + 0.3


def _draw_box(axes: Any, box: _Box) -> None:
    fill, line = _COLORS[box.kind]
    style = "square,pad=0" if box.kind == "step" else f"round,pad=0,rounding_size={box.height / 2}"
    corner = (box.left, box.y - box.height / 2)
    axes.add_patch(
        FancyBboxPatch(corner, box.width, box.height, boxstyle=style, facecolor=fill, edgecolor=line, zorder=3)
    )
    for index, text in enumerate(box.lines):
        y = box.y + ((len(box.lines) - 1) / 2 - index) * _LINE
        weight = "bold" if index == 0 else "normal"
        axes.text(box.x, y, text, ha="center", va="center_baseline", fontsize=8.5, fontweight=weight, zorder=4)


def _draw_route(axes: Any, points: list[tuple[float, float]], label: str, at_end: bool) -> None:
    """A smooth line from the right side of the first box to the left side of the last, through the waypoints."""
    vertices, codes = [points[0]], [Curve.MOVETO]
    for before, after in pairwise(points):
        middle = (before[0] + after[0]) / 2
        vertices += [(middle, before[1]), (middle, after[1]), after]
        codes += [Curve.CURVE4] * 3
    curve = Curve(vertices, codes)
    axes.add_patch(
        FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color="#666666", linewidth=0.9, zorder=1)
    )
    if label:
        x, y = (points[-1][0] - 0.14, points[-1][1]) if at_end else (points[0][0] + 0.06, points[0][1])
        align = "right" if at_end else "left"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        axes.text(x, y + 0.09, label, fontsize=6.5, color="#555555", ha=align, va="center", zorder=2, bbox=box)
