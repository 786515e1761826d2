"""Places the boxes of a graph: ranks from left to right, and within a rank an order with few crossings.

This is the usual method (Sugiyama, Tagawa, Toda 1981): an arrow over several ranks gets a waypoint in each rank it
crosses, and each rank is sorted by the mean position of its neighbors, forwards and backwards a few times.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from triton_ensembles.errors import EnsembleError
from triton_ensembles.graph.dag import Graph, ranks

Node = str | int | tuple[str | int, str | int, int]  # a tensor, a step, or a waypoint (from, to, rank)
_SWEEPS = 6
_MOST_NODES = 1200  # drawing one takes some milliseconds


@dataclass(frozen=True)
class Layout:
    """Where the nodes of a graph are.

    Args:
        columns: the nodes of each rank from top to bottom.
        routes: the nodes along each edge of the graph, including its ends.
    """

    columns: tuple[tuple[Node, ...], ...]
    routes: tuple[tuple[Node, ...], ...]

    def heights(self) -> dict[Node, float]:
        """The y of every node, in units of one row, 0 in the middle."""
        return {node: height for column in self.columns for node, height in _heights(column).items()}


def layout(graph: Graph) -> Layout:
    """Place the nodes of ``graph``.

    Raises:
        EnsembleError: there are too many for a picture.
    """
    rank = ranks(graph)
    last = max(rank.values())
    for tensor in graph.tensors:  # all outputs in the last column
        if tensor.role == "output" and not graph.readers(tensor.name):
            rank[tensor.name] = last
    nodes = len(rank) + sum(rank[edge.ends[1]] - rank[edge.ends[0]] for edge in graph.edges)
    if nodes > _MOST_NODES:
        raise EnsembleError(
            f"'{graph.name}' is too large for a picture: steps: {len(graph.steps):,}, tensors: {len(graph.tensors):,}",
            cure="draw it as mermaid, which is text",
        )
    columns: list[list[Node]] = [[] for _ in range(last + 1)]
    for node, number in rank.items():
        columns[number].append(node)
    routes = []
    for edge in graph.edges:
        start, end = edge.ends
        between = [(start, end, number) for number in range(rank[start] + 1, rank[end])]
        for waypoint in between:
            columns[waypoint[2]].append(waypoint)
        routes.append((start, *between, end))
    _sort(columns, routes)
    return Layout(tuple(tuple(column) for column in columns), tuple(routes))


def _heights(column: Sequence[Node]) -> dict[Node, float]:
    return {node: (len(column) - 1) / 2 - index for index, node in enumerate(column)}


def _sort(columns: list[list[Node]], routes: list[tuple[Node, ...]]) -> None:
    before: dict[Node, list[Node]] = defaultdict(list)
    after: dict[Node, list[Node]] = defaultdict(list)
    for route in routes:
        for start, end in pairwise(route):
            after[start].append(end)
            before[end].append(start)
    for _ in range(_SWEEPS):
        for neighbors, order in ((before, columns), (after, columns[::-1])):
            for fixed, column in pairwise(order):
                there = _heights(fixed)
                heights = _heights(column)  # kept by nodes without neighbors
                for node in column:
                    if neighbors[node]:
                        heights[node] = fmean(there[other] for other in neighbors[node])
                column.sort(key=lambda node: -heights[node])
