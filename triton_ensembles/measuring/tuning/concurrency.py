"""The search for the best concurrency of one candidate."""

from collections.abc import Callable, Sequence

from triton_ensembles.measuring.tuning.goal import Goal, Point

Measure = Callable[[int], Point]


def rungs(most: int) -> tuple[int, ...]:
    """The concurrencies that are tried: two to an octave, up to ``most``."""
    octaves = [1 << power for power in range(most.bit_length())]
    between = [octave * 3 // 2 for octave in octaves]
    return tuple(sorted(step for step in {*octaves, *between, most} if step <= most))


def climb(measure: Measure, goal: Goal, steps: Sequence[int], first: Point) -> Point:
    """The best point that is reached from ``first`` in the direction of better ones.

    It ends where the direction turns, or at the second step in a row that gains nothing.
    """
    best, direction, lost = first, goal.direction(first), 0
    place = steps.index(first.concurrency) + direction
    while 0 <= place < len(steps) and lost < 2:
        point = measure(steps[place])
        best, lost = (point, 0) if goal.score(point) > goal.score(best) else (best, lost + 1)
        if goal.direction(point) != direction:
            break
        place += direction
    return best
