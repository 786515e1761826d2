"""A model on an instance of the simulation."""

from collections import deque

from triton_ensembles.endpoint.hosting.model import ModelState
from triton_ensembles.planning.demand import Demand


class SimulatedModel:
    """What ``endpoint.hosting.model.Model`` is to the endpoint, as far as its rules ask.

    Attributes:
        state, in_use, last_use: as there.
        known: whether it has been loaded on this instance before, so that its size is known.
        loading: whether it is being fetched or loaded.
        is_fresh: whether it has begun no answer since it was loaded.
        waiting: requests that wait for the load.
        busy: requests that are being answered; ``line``: those that wait for one of these.
    """

    __slots__ = (
        "busy",
        "demand",
        "in_use",
        "index",
        "is_fresh",
        "kind",
        "known",
        "last_use",
        "line",
        "loading",
        "state",
        "waiting",
    )

    def __init__(self, index: int, kind: int, demand: Demand) -> None:
        self.index = index
        self.kind = kind
        self.demand = demand
        self.state = ModelState.WAITING
        self.in_use = 0
        self.last_use = 0.0
        self.known = False
        self.loading = self.is_fresh = False
        self.waiting: list[int] = []
        self.busy = 0
        self.line: deque[int] = deque()
