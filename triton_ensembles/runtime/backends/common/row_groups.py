"""Groups of rows of different lengths that run together: padding takes time, and so does every additional run."""

from collections.abc import Sequence

# The cost of a run itself, in padded positions. Measured with all-MiniLM-L6-v2 on two Zen 4 cores: one more run takes
# as long as 16 to 22 more tokens in a large run. For sentences of 8 to 128 tokens, 32 at a time, ONNX Runtime is
# fastest with 16 to 24, OpenVINO with 24 to 96.
RUN_COST = 24


def cheapest_groups(lengths: Sequence[int]) -> list[list[int]]:
    """The runs of rows of these ``lengths``, in positions, for which the sum of RUN_COST + rows x longest length is
    least: for each run the indices of its rows, in their order.

    Each run holds rows that are next to each other in order of length, and equal lengths stay together. So it is
    found by dynamic programming over the places to cut, in n x n / 2 steps for n different lengths.
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
