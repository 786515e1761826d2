"""A model of the simulation."""

from collections import deque

from triton_ensembles.measuring.planning.demand import Demand
from triton_ensembles.sagemaker.model_state import ModelState


class SimulatedModel:
    """A model as the endpoint's rules see it: the counterpart of ``hosting.model.Model``.

    Attributes:
        hash: the model's number in the traffic.
        state, in_use, last_use, disk_bytes, load_bytes: as there.
        loading: whether it is being fetched or loaded.
        is_fresh: whether it has begun no answer since it was loaded.
        waiting: requests that wait for the load.
        busy: requests that are being answered; ``line``: those that wait for one of these.
    """

    __slots__ = (
        *("hash", "kind", "demand", "state", "in_use", "last_use", "disk_bytes", "load_bytes"),
        *("loading", "is_fresh", "waiting", "busy", "line"),
    )

    def __init__(self, number: int, kind: int, demand: Demand) -> None:
        self.hash = number
        self.kind = kind
        self.demand = demand
        self.state = ModelState.WAITING
        self.in_use = 0
        self.last_use = 0.0
        self.disk_bytes = round(demand.disk_bytes)
        self.load_bytes = round(demand.memory_bytes)
        self.loading = False
        self.is_fresh = False
        self.waiting: list[int] = []
        self.busy = 0
        self.line: deque[int] = deque()
