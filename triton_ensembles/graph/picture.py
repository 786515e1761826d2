"""A graph as a picture (SVG, PNG or PDF), drawn by matplotlib, without a display and without other programs."""

import io
import warnings
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from triton_ensembles.errors import EnsembleError
from triton_ensembles.graph.dag import Graph
from triton_ensembles.graph.label import label
from triton_ensembles.graph.layout import Layout, Node, layout

# Inches. The font is DejaVu Sans, which comes with matplotlib; its letters are about 0.6 of their size wide.
_LETTER, _SMALL, _LINE, _PORT, _ROW, _GAP, _EDGE, _TITLE = 0.082, 0.062, 0.17, 0.24, 0.95, 0.75, 0.25, 0.25
_COLORS = {
    "input": ("#e8f1fb", "#3b76b5"),
    "output": ("#e9f6ec", "#3a8a4d"),
    "inner": ("#f6f6f6", "#999999"),
    "step": ("#ffffff", "#222222"),
}
_DPI = 160
_LARGEST_PNG = 40_000_000  # pixels
_LONGEST_PNG = 60_000  # of one side
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

    Raises:
        EnsembleError: it is too large to be drawn in this format.
    """
    plan = layout(graph)
    boxes = _boxes(graph, plan)
    places = _ports(graph, plan, boxes)
    width = max(box.right for box in boxes.values()) + _EDGE
    low = min(box.y - box.height / 2 for box in boxes.values())
    high = max(box.y + box.height / 2 for box in boxes.values())
    height = high - low + 2 * _EDGE + _TITLE
    if format == "png" and (width * height * _DPI**2 > _LARGEST_PNG or max(width, height) * _DPI > _LONGEST_PNG):
        raise EnsembleError(f"'{graph.name}' is too large for a PNG", cure="draw it as SVG or PDF")
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(low - _EDGE, high + _EDGE + _TITLE))
    axes.set_axis_off()
    _write(axes, _EDGE, high + _EDGE, label(graph.name), fontsize=11, fontweight="bold", va="bottom")
    for edge, points in zip(graph.edges, places, strict=True):
        _draw_route(axes, points, label(edge.other_name), at_end=edge.kind == "read")
    for box in boxes.values():
        if box.lines:
            _draw_box(axes, box)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "graph"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a viewer of SVG has more fonts
        out = io.BytesIO()
        figure.savefig(out, format=format, dpi=_DPI, metadata=_WITHOUT_DATE.get(format))
    return out.getvalue()


def _boxes(graph: Graph, plan: Layout) -> dict[Node, _Box]:
    """The box of every node; waypoints are boxes without text and height."""
    texts = _texts(graph)
    gaps = _gaps(graph, plan)
    heights = plan.heights()
    ends = Counter(route[0] for route in plan.routes), Counter(route[-1] for route in plan.routes)
    boxes: dict[Node, _Box] = {}
    x = _EDGE
    for number, column in enumerate(plan.columns):
        shown = [texts[node] for node in column if node in texts]
        column_width = max((_width(lines) for lines in shown), default=0.3)
        for node in column:
            lines = texts.get(node, [])
            ports = max(count[node] for count in ends)
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
        gaps[column] = max(gaps[column], len(label(edge.other_name)) * _SMALL + 0.45)
    return gaps


def _ports(graph: Graph, plan: Layout, boxes: dict[Node, _Box]) -> list[list[tuple[float, float]]]:
    """The points along each arrow. Several arrows at one side of a step are spread over it in order of height."""
    sides = _sides(graph, plan, boxes)
    points = []
    for edge, route in zip(graph.edges, plan.routes, strict=True):
        first, last = boxes[route[0]], boxes[route[-1]]
        start, end = first.y, last.y
        near = 1 if edge.kind == "write" else -2
        same = sides[edge.kind, edge.step]
        offset = ((len(same) - 1) / 2 - same.index(boxes[route[near]].y)) * _PORT
        start, end = (start + offset, end) if edge.kind == "write" else (start, end + offset)
        between = [(boxes[node].x, boxes[node].y) for node in route[1:-1]]
        points.append([(first.right, start), *between, (last.left, end)])
    return points


def _sides(graph: Graph, plan: Layout, boxes: dict[Node, _Box]) -> dict[tuple[str, int], list[float]]:
    """The heights from which arrows come to each step ("read"), and to which they go ("write"), from the top down."""
    found: dict[tuple[str, int], list[float]] = defaultdict(list)
    for edge, route in zip(graph.edges, plan.routes, strict=True):
        found[edge.kind, edge.step].append(boxes[route[1 if edge.kind == "write" else -2]].y)
    return {key: sorted(heights, reverse=True) for key, heights in found.items()}


def _texts(graph: Graph) -> dict[Node, list[str]]:
    steps: dict[Node, list[str]] = {}
    for step in graph.steps:
        batch = f"batches of ≤{step.max_batch_size}" if step.max_batch_size else "no batching"
        about = [label(step.backend), batch] if step.backend else ["unknown model"]
        steps[step.number] = [label(step.model), *about]
    return steps | {tensor.name: [label(tensor.name), tensor.shape] for tensor in graph.tensors}


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
        _write(axes, box.x, y, text, ha="center", va="center_baseline", fontsize=8.5, fontweight=weight, zorder=4)


def _draw_route(axes: Any, points: list[tuple[float, float]], name: str, at_end: bool) -> None:
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
    if name:
        x, y = (points[-1][0] - 0.14, points[-1][1]) if at_end else (points[0][0] + 0.06, points[0][1])
        align = "right" if at_end else "left"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        _write(axes, x, y + 0.09, name, fontsize=6.5, color="#555555", ha=align, va="center", zorder=2, bbox=box)


def _write(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    axes.text(x, y, text, parse_math=False, **style)  # a dollar sign is no formula
