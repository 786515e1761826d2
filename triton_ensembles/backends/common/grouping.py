"""Which rows of different lengths to run together: padding costs, and so does every run."""

from __future__ import annotations

from collections.abc import Sequence

# What a run costs by itself, in padded positions. Measured with all-MiniLM-L6-v2 on two Zen 4 cores: a run takes as
# long as 16 to 22 more tokens in a run of many. On sentences of 8 to 128 tokens, 32 at a time, ONNX Runtime is fastest
# with 16 to 24, OpenVINO with 24 to 96.
RUN_COST = 24


def cheapest_groups(lengths: Sequence[int]) -> list[list[int]]:
    """Split the rows into runs with the least total of RUN_COST a run and rows x longest length.

    Runs of the cheapest split are neighbours in the order of length, and equal lengths stay together, so that it is
    found by dynamic programming over the places to cut: n x n / 2 steps for n different lengths. The rows of a run
    keep their order.
    """
    members: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        members.setdefault(length, []).append(index)
    sizes = sorted(members)
    best: list[tuple[float, int]] = [(0.0, 0)]  # least cost of the first n sizes, and where their last run begins
    for end in range(1, len(sizes) + 1):
        rows = 0
        choices = []
        for start in range(end - 1, -1, -1):
            rows += len(members[sizes[start]])
            choices.append((best[start][0] + RUN_COST + rows * sizes[end - 1], start))
        best.append(min(choices))
    groups, end = [], len(sizes)
    while end:
        start = best[end][1]
        groups.append(sorted(index for size in sizes[start:end] for index in members[size]))
        end = start
    return groups
