"""The search for the best concurrency of one candidate."""

from collections.abc import Callable, Sequence

from triton_ensembles.measuring.tuning.goal import Goal, Point

Measure = Callable[[int], Point]


def rungs(most: int) -> tuple[int, ...]:
    """The concurrencies that are tried: two to an octave, up to ``most``."""
    octaves = [1 << power for power in range(most.bit_length())]
    between = [octave * 3 // 2 for octave in octaves]
    return tuple(sorted(step for step in {*octaves, *between, most} if step <= most))


def first_ladder(measure: Measure, goal: Goal, steps: Sequence[int], first: Point) -> Point:
    """The best point from ``first``, at the lowest concurrency, upward: by octaves, and half of one at the end.

    It ends at the second step in a row that gains nothing: throughput often falls from 1 to 2 and then rises, and one
    measurement out of bounds may be the machine's fault.
    """
    octaves = [step for step in steps if step & (step - 1) == 0]
    octaves += [step for step in steps[-1:] if step not in octaves]
    best, lost = first, 0
    for concurrency in octaves[1:]:
        if lost == 2 or goal.direction(best) < 0:
            break
        point = measure(concurrency)
        better = goal.score(point) > goal.score(best)
        best, lost = (point, 0) if better else (best, lost + 1)
    place = steps.index(best.concurrency)
    for near in (place + goal.direction(best), place - goal.direction(best)):
        if 0 <= near < len(steps) and steps[near] not in octaves:
            point = measure(steps[near])
            if goal.score(point) > goal.score(best):
                return point
    return best


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
