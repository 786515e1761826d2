"""How long models stay loaded in a memory that holds a part of them: Che's approximation, with sizes and load times.

Che, Tung and Wang (IEEE JSAC 20, 2002, "Hierarchical Web caching systems") found that a least recently used cache
evicts an item that nobody has asked for during a time T, which is nearly the same for all items; Fricker, Robert and
Roberts (2012, arXiv 1202.3974) say why. With Poisson arrivals of rate λ each model then goes through independent
cycles:

    a miss begins a load of D seconds, during which λD further requests wait;
    the model stays until nobody has asked for it for T seconds, which takes (exp(λT) - 1)/λ and sees exp(λT) - 1 hits;
    the next request, which is the next miss, comes 1/λ later.

So of its requests, with y = exp(-λT), the share that begins a load is y/(1 + λDy), and of its time it holds memory for
(1 - y + λHy)/(1 + λDy), where H is the part of D, and of the unload, during which memory is taken. T is the root of

    sum over models of size · (1 - y + λHy)/(1 + λDy) = memory
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from triton_ensembles.planning.demand import Floats

_ROUNDS = 80
_NEAR = 1e-7
_LONGEST = 1e12  # seconds: nothing is ever evicted


@dataclass(frozen=True)
class Residency:
    """By model, in the steady state.

    Attributes:
        seconds: T: how long a model that nobody asks for stays.
        loads: share of its requests that begin a load.
        cold: share of its requests that find it not loaded: those and the ones that wait for a load.
        loaded: share of the time that it is loaded.
        held: share of the time that it holds memory, also while it is being loaded or unloaded.
    """

    seconds: float
    loads: Floats
    cold: Floats
    loaded: Floats
    held: Floats


def residency(rates: Floats, sizes: Floats, wait: Floats, hold: Floats, capacity: float) -> Residency:
    """Solve for T.

    Args:
        rates: requests a second.
        sizes: bytes.
        wait: D, seconds from a miss until the model is loaded.
        hold: H, seconds of that, and of the unload, during which its memory is taken.
        capacity: bytes.
    """

    def at(seconds: float) -> Residency:
        still = np.exp(-np.minimum(rates * seconds, 700.0))
        if seconds >= _LONGEST:
            still = np.zeros_like(rates)
        cycle = 1.0 + rates * wait * still
        loads = still / cycle
        cold = (1.0 + rates * wait) * still / cycle
        loaded = (1.0 - still) / cycle
        return Residency(seconds, loads, cold, loaded, loaded + rates * hold * loads)

    def used(found: Residency) -> float:
        return float((sizes * found.held).sum())

    if float(sizes[rates > 0].sum()) <= capacity:
        return at(_LONGEST)
    if used(at(0.0)) >= capacity:
        return at(0.0)
    return at(_root(lambda seconds: used(at(seconds)) - capacity))


def _root(missing: Callable[[float], float]) -> float:
    """Where an ascending function, which is negative at 0, is 0: false position after Illinois, far fewer steps than
    bisection."""
    low, high = 0.0, 1.0
    below, above = missing(low), missing(high)
    while above < 0 and high < _LONGEST:
        low, below, high = high, above, high * 4
        above = missing(high)
    side = 0
    for _ in range(_ROUNDS):
        middle = (low * above - high * below) / (above - below) if above > below else (low + high) / 2
        found = missing(middle)
        if found < 0:
            low, below = middle, found
            above /= 2 if side < 0 else 1
            side = -1
        else:
            high, above = middle, found
            below /= 2 if side > 0 else 1
            side = 1
        if high - low <= _NEAR * high:
            break
    return middle
