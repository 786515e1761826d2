"""Waiting: for the cores that all requests and loads of an instance share, and for a model that is busy.

The cores are shared as by the kernel's scheduler, so an instance is taken for a processor-sharing queue of type
M/G/c-PS: while n jobs run, of which c can run at full speed, each runs at min(1, c/n) of it. The number of jobs then
only depends on the mean of their durations (Kelly, "Reversibility and Stochastic Networks", 1979, chapter 3):

    P(n) = P(n - 1) · a / min(n, c)            a: jobs that would run on average at full speed

A model with several requests answers so many at a time as its instance groups allow (M/G/m, first come, first
served). Of the requests, Erlang's C wait, on average (1 + V)/2 times as long as with exponential times (Lee and
Longton 1959; V: squared coefficient of variation), and the wait is taken to be exponential.
"""

import numpy as np

from triton_ensembles.planning.demand import Floats

_TAIL = 1e-7  # probability of states that are left out
_MOST_STATES = 20_000


def slowdowns(offered: float, servers: float) -> tuple[Floats, Floats]:
    """Factors by which jobs are slowed down, and the share of jobs that find each.

    Args:
        offered: jobs that would run on average at full speed; less than ``servers``.
        servers: jobs that can run at full speed at a time; need not be whole.
    """
    weights, weight, number = [1.0], 1.0, 0
    total = 1.0
    while number < _MOST_STATES:
        number += 1
        weight *= offered / min(number, servers)
        total += weight
        weights.append(weight)
        if number > servers and weight < _TAIL * total:
            break
    found = np.array(weights)
    return np.maximum(1.0, np.arange(1, len(found) + 1) / servers), found / found.sum()


def waiting(lanes: Floats, offered: Floats) -> Floats:
    """Erlang's C: the share of requests that wait, of each model.

    Args:
        lanes: how many it answers at a time.
        offered: how many it would answer on average; less than ``lanes``.
    """
    inverse = np.ones_like(offered)  # 1/B of Erlang's B, by its recursion
    for number in range(1, int(lanes.max(initial=1)) + 1):
        step = 1.0 + inverse * number / np.maximum(offered, 1e-300)
        inverse = np.where(lanes >= number, np.minimum(step, 1e300), inverse)
    load = offered / lanes
    chance: Floats = 1.0 / (inverse * (1.0 - load) + load)
    return chance
