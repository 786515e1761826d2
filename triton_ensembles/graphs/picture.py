"""A graph as a picture (SVG, PNG or PDF): placed by igraph, drawn by matplotlib, without a display."""

import io
import warnings
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import igraph
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from triton_ensembles.graphs.dag import Graph, Node, Role, label, ranks
from triton_ensembles.ground.errors import EnsembleError

# Inches. The font is DejaVu Sans, which comes with matplotlib; its letters are about 0.6 of their size wide.
_LETTER, _SMALL, _LINE, _PORT, _ROW, _GAP, _EDGE, _TITLE = 0.082, 0.062, 0.17, 0.24, 0.95, 0.75, 0.25, 0.25
_STEP = "step"
_COLORS = {
    Role.INPUT: ("#e8f1fb", "#3b76b5"),
    Role.OUTPUT: ("#e9f6ec", "#3a8a4d"),
    Role.INNER: ("#f6f6f6", "#999999"),
    _STEP: ("#ffffff", "#222222"),
}
_MOST_NODES = 1200  # and bends of arrows: drawing one takes some milliseconds
_DPI = 160
_LARGEST_PNG, _LONGEST_PNG = 40_000_000, 60_000  # pixels, and those of one side
_WITHOUT_DATE = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}

Point = tuple[float, float]


class Box(NamedTuple):
    """A step or a tensor on the page: its center, size (inches), text, and the key of its colors."""

    x: float
    y: float
    width: float
    height: float
    lines: Sequence[str]
    kind: str


def picture(graph: Graph, format: str) -> bytes:
    """Draw an ``svg``, ``png`` or ``pdf``: steps as boxes, tensors as rounded ones with data type and dims.

    The title is the ensemble's name; models beside it are named below. A label beside an arrow is the tensor's name in
    the step's model if it differs. The same graph gives the same bytes.

    Raises:
        EnsembleError: it is too large to be drawn in this format.
    """
    boxes, arrows = place(graph)
    note = label(graph.note)
    width = max(*(box.x + box.width / 2 for box in boxes), _EDGE + len(note) * _SMALL) + _EDGE
    ends = [box.y + side * box.height / 2 for box in boxes for side in (-1, 1)]
    ends += [y for bends in arrows for _, y in bends]
    low, high = min(ends) - _EDGE - bool(note) * _TITLE, max(ends) + _EDGE + _TITLE
    if format == "png" and (
        width * (high - low) * _DPI**2 > _LARGEST_PNG or max(width, high - low) * _DPI > _LONGEST_PNG
    ):
        raise EnsembleError(f"'{graph.name}' is too large for a PNG", cure="draw it as SVG or PDF")
    figure = Figure(figsize=(width, high - low))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(low, high))
    axes.set_axis_off()
    _write(axes, _EDGE, high - _TITLE, label(graph.name), fontsize=11, fontweight="bold", va="bottom")
    _write(axes, _EDGE, low + _TITLE, note, fontsize=7.5, color="#555555", va="bottom")
    count = len(graph.edges)
    for edge, points in zip(graph.edges, arrows[:count], strict=True):
        _draw_arrow(axes, points, label(edge.other_name), at_end=not edge.writes)
    for (caller, _), points in zip(graph.calls, arrows[count:], strict=True):
        _draw_arrow(axes, points, graph.verb(caller), at_end=True, linestyle="dashed")
    for box in boxes:
        _draw_box(axes, box)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "graph"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a viewer of SVG has more fonts
        out = io.BytesIO()
        figure.savefig(out, format=format, dpi=_DPI, metadata=_WITHOUT_DATE.get(format))
    return out.getvalue()


def place(graph: Graph) -> tuple[list[Box], list[list[Point]]]:
    """The boxes of ``graph``, and the points along the arrow of each of its edges, then of its calls."""
    rank = _columns(graph)
    numbers = {node: number for number, node in enumerate(rank)}
    edges = [(numbers[start], numbers[end]) for start, end in (*(edge.ends for edge in graph.edges), *graph.calls)]
    layers = list(rank.values())
    layout = igraph.Graph(len(rank), edges, directed=True).layout_sugiyama(layers=layers)
    texts = _texts(graph)
    centers = _centers(graph, rank, {node: _width(texts[node]) for node in rank})
    ports = defaultdict[Node, list[int]](lambda: [0, 0])
    for edge in graph.edges:
        ports[edge.step][edge.writes] += 1
    boxes = {
        node: Box(
            centers[layer],
            -row * _ROW,
            _width(texts[node]),
            max(len(texts[node]) * _LINE + 0.2, max(ports[node]) * _PORT),
            texts[node],
            graph.tensors[node].role if isinstance(node, str) else _STEP,
        )
        for (node, layer), (row, _) in zip(rank.items(), layout.coords, strict=True)
    }
    routes = [[(centers[round(layer)], -row * _ROW) for row, layer in bends] for bends in layout.edge_routing]
    arrows = _arrows(graph, boxes, routes[: len(graph.edges)])
    for (caller, callee), bends in zip(graph.calls, routes[len(graph.edges) :], strict=True):
        start, end = boxes[caller], boxes[callee]
        arrows.append([(start.x, start.y - start.height / 2), *bends, (end.x - end.width / 2, end.y)])
    return list(boxes.values()), arrows


def _columns(graph: Graph) -> dict[Node, int]:
    """The column of every node, with all outputs of the ensemble in the last one. Raises :class:`EnsembleError`: there
    are too many for a picture."""
    rank = ranks(graph)
    last = max(rank.values())
    inputs_of_steps = {edge.tensor for edge in graph.edges if not edge.writes}
    outputs = [name for name, tensor in graph.tensors.items() if tensor.role == Role.OUTPUT]
    rank |= {name: last for name in outputs if name not in inputs_of_steps}
    if len(rank) + sum(rank[edge.ends[1]] - rank[edge.ends[0]] for edge in graph.edges) > _MOST_NODES:
        raise EnsembleError(
            f"'{graph.name}' is too large for a picture: steps: {len(graph.steps):,}, tensors: {len(graph.tensors):,}",
            cure="draw it as mermaid, which is text",
        )
    return rank


def _centers(graph: Graph, rank: dict[Node, int], widths: dict[Node, float]) -> list[float]:
    """The middle of each column, from the left; the gaps between them have room for the labels beside the arrows."""
    count = max(rank.values()) + 1
    columns, gaps = [0.3] * count, [_GAP] * count
    for node, width in widths.items():
        columns[rank[node]] = max(columns[rank[node]], width)
    for edge in graph.edges:
        gap = rank[edge.step] - (not edge.writes)
        gaps[gap] = max(gaps[gap], len(label(edge.other_name)) * _SMALL + 0.45)
    starts = [_EDGE + sum(columns[:number]) + sum(gaps[:number]) for number in range(count)]
    return [start + width / 2 for start, width in zip(starts, columns, strict=True)]


def _arrows(graph: Graph, boxes: dict[Node, Box], routes: Sequence[list[Point]]) -> list[list[Point]]:
    """The points along each arrow. Several arrows at one side of a step are spread over it in order of height."""
    sides = defaultdict[tuple[int, bool], list[float]](list)
    heights = []  # from which an arrow comes to its step, or to which it leaves it
    for edge, bends in zip(graph.edges, routes, strict=True):
        heights.append((bends or [boxes[edge.tensor][:2]])[0 if edge.writes else -1][1])
        sides[edge.step, edge.writes].append(heights[-1])
    arrows = []
    for edge, bends, height in zip(graph.edges, routes, heights, strict=True):
        start, end = (boxes[node] for node in edge.ends)
        side = sorted(sides[edge.step, edge.writes], reverse=True)
        port = ((len(side) - 1) / 2 - side.index(height)) * _PORT
        leaves, arrives = (start.y + port, end.y) if edge.writes else (start.y, end.y + port)
        arrows.append([(start.x + start.width / 2, leaves), *bends, (end.x - end.width / 2, arrives)])
    return arrows


def _texts(graph: Graph) -> dict[Node, list[str]]:
    texts: dict[Node, list[str]] = {name: [label(name), tensor.shape] for name, tensor in graph.tensors.items()}
    for step in graph.steps:
        batch = f"batches of ≤{step.max_batch_size}" if step.max_batch_size else "no batching"
        about = [label(step.kind), batch] if step.backend else ["unknown model"]
        texts[step.number] = [label(step.model), *about]
    return texts


def _width(lines: Sequence[str]) -> float:
    return max(map(len, lines)) * _LETTER + 0.3


def _draw_box(axes: Any, box: Box) -> None:
    fill, line = _COLORS[box.kind]
    style = "square,pad=0" if box.kind == _STEP else f"round,pad=0,rounding_size={box.height / 2}"
    corner = (box.x - box.width / 2, box.y - box.height / 2)
    colors: Any = {"facecolor": fill, "edgecolor": line}
    axes.add_patch(FancyBboxPatch(corner, box.width, box.height, boxstyle=style, zorder=3, **colors))
    for index, text in enumerate(box.lines):
        y = box.y + ((len(box.lines) - 1) / 2 - index) * _LINE
        weight = "bold" if index == 0 else "normal"
        _write(axes, box.x, y, text, ha="center", va="center_baseline", fontsize=8.5, fontweight=weight, zorder=4)


def _draw_arrow(axes: Any, points: Sequence[Point], name: str, at_end: bool, linestyle: str = "solid") -> None:
    """A smooth line from the right side of the first box to the left side of the last, through the bends."""
    vertices, codes = [points[0]], [Curve.MOVETO]
    for before, after in pairwise(points):
        middle = (before[0] + after[0]) / 2
        vertices += [(middle, before[1]), (middle, after[1]), after]
        codes += [Curve.CURVE4] * 3
    line: Any = {"color": "#666666", "linewidth": 0.9, "linestyle": linestyle, "zorder": 1}
    axes.add_patch(FancyArrowPatch(path=Curve(vertices, codes), arrowstyle="-|>", mutation_scale=9, **line))
    if name:
        x, y = (points[-1][0] - 0.14, points[-1][1]) if at_end else (points[0][0] + 0.06, points[0][1])
        align = "right" if at_end else "left"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        _write(axes, x, y + 0.09, name, fontsize=6.5, color="#555555", ha=align, va="center", zorder=2, bbox=box)


def _write(axes: Any, x: float, y: float, text: str, **style: Any) -> None:
    axes.text(x, y, text, parse_math=False, **style)  # a dollar sign is no formula
