"""The time for which models that are alike stay loaded in a memory that holds a part of them: Che's approximation.

Che, Tung and Wang (IEEE JSAC 20, 2002, "Hierarchical Web caching systems") found that a least recently used cache
evicts an item without requests for a time T, which is nearly the same for all items; Fricker, Robert and Roberts (2012,
arXiv 1202.3974) say why. With Poisson arrivals of rate λ each model then goes through independent cycles:

    a miss begins a load of D seconds, during which λD further requests wait;
    the model stays until it has had no request for T seconds, which takes (exp(λT) - 1)/λ and sees exp(λT) - 1 hits;
    the next request, which is the next miss, comes 1/λ later.

So of its requests, with y = exp(-λT), the share that begins a load is y/(1 + λDy), and of its time it holds memory for
(1 - y + λDy)/(1 + λDy). T is where these add up to the models that the memory holds.
"""

import math
from dataclasses import dataclass

import numpy as np

from triton_ensembles.measuring.planning.demand import Floats

_SHORTEST, _LONGEST = 1e-9, 1e12  # seconds, between which T is searched
_NEAR = 1e-7


@dataclass(frozen=True)
class Residency:
    """The steady state, by model.

    Attributes:
        loads: share of its requests that begin a load.
        cold: share of its requests that find it not loaded: those and the ones that wait for a load.
        loaded: share of the time that it is loaded.
        held: share of the time that it holds memory, also while it is being loaded.
    """

    loads: Floats
    cold: Floats
    loaded: Floats
    held: Floats


def residency(rates: Floats, load_seconds: float, capacity: float) -> Residency:
    """Solve for T.

    Args:
        rates: requests a second, by model.
        load_seconds: D.
        capacity: the number of models that the memory holds.
    """
    if np.count_nonzero(rates) <= capacity:
        return _after(math.inf, rates, load_seconds)
    low, high = _SHORTEST, _LONGEST
    while high > (1 + _NEAR) * low:
        middle = math.sqrt(low * high)
        fits = float(_after(middle, rates, load_seconds).held.sum()) <= capacity
        low, high = (middle, high) if fits else (low, middle)
    return _after(low, rates, load_seconds)


def _after(seconds: float, rates: Floats, load_seconds: float) -> Residency:
    """The steady state if T were ``seconds``."""
    still = np.exp(-rates * seconds) if math.isfinite(seconds) else np.zeros_like(rates)
    cycle = 1.0 + rates * load_seconds * still
    loads = still / cycle
    loaded = (1.0 - still) / cycle
    return Residency(loads, (1.0 + rates * load_seconds) * loads, loaded, loaded + rates * load_seconds * loads)
