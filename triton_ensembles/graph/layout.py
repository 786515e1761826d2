"""Where the boxes of a graph go: ranks from left to right, and within a rank an order with few crossings.

The usual method (Sugiyama, Tagawa, Toda 1981) in small: an arrow over several ranks gets a waypoint in each rank
between, and each rank is sorted by the mean of its neighbours' positions, forwards and backwards a few times.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from triton_ensembles.graph.dag import Graph, ranks

Node = str | int | tuple[str | int, str | int, int]  # a tensor, a step, or a waypoint (from, to, rank)
_SWEEPS = 6


@dataclass(frozen=True)
class Layout:
    """``columns[rank]``: the nodes of a rank from top to bottom; ``ways``: those along each arrow, ends included."""

    columns: tuple[tuple[Node, ...], ...]
    ways: tuple[tuple[Node, ...], ...]

    def heights(self) -> dict[Node, float]:
        """The y of every node, in units of one row, 0 at the middle."""
        found: dict[Node, float] = {}
        for column in self.columns:
            for index, node in enumerate(column):
                found[node] = (len(column) - 1) / 2 - index
        return found


def layout(graph: Graph) -> Layout:
    rank = ranks(graph)
    last = max(rank.values())
    for tensor in graph.tensors:  # outputs stand together at the right
        if tensor.role == "output" and not graph.readers(tensor.name):
            rank[tensor.name] = last
    columns: list[list[Node]] = [[] for _ in range(last + 1)]
    for node, number in rank.items():
        columns[number].append(node)
    ways = []
    for edge in graph.edges:
        ends: tuple[str | int, str | int] = (
            (edge.tensor, edge.step) if edge.kind == "read" else (edge.step, edge.tensor)
        )
        between = [(*ends, number) for number in range(rank[ends[0]] + 1, rank[ends[1]])]
        for waypoint in between:
            columns[waypoint[2]].append(waypoint)
        ways.append((ends[0], *between, ends[1]))
    _untangle(columns, ways)
    return Layout(tuple(tuple(column) for column in columns), tuple(ways))


def _untangle(columns: list[list[Node]], ways: list[tuple[Node, ...]]) -> None:
    before: dict[Node, list[Node]] = defaultdict(list)
    after: dict[Node, list[Node]] = defaultdict(list)
    for way in ways:
        for start, end in pairwise(way):
            after[start].append(end)
            before[end].append(start)
    for _ in range(_SWEEPS):
        for forwards in (True, False):
            neighbours = before if forwards else after
            order = list(range(len(columns)))
            for number in order if forwards else reversed(order):
                beside = number - 1 if forwards else number + 1
                if not 0 <= beside < len(columns):
                    continue
                place = {node: index - (len(columns[beside]) - 1) / 2 for index, node in enumerate(columns[beside])}
                here = {node: index - (len(columns[number]) - 1) / 2 for index, node in enumerate(columns[number])}
                means = {
                    node: sum(place[other] for other in neighbours[node]) / len(neighbours[node])
                    if neighbours[node]
                    else here[node]
                    for node in columns[number]
                }
                columns[number].sort(key=lambda node: means[node])
