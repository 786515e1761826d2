"""The models of an endpoint: how often each is requested, and which archive it is a copy of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.demand import Demand, Floats, demand_of
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.traffic import Traffic
from triton_ensembles.measuring.profiling.profile import Profile

_OFTEN = 1.0  # requests a second: with fewer, most of them find a model that has rested for half a second and more
Shares = Sequence[tuple[Profile, float]]


@dataclass(frozen=True, eq=False)
class Workload:
    """The models of an endpoint.

    Attributes:
        rates: requests a second, by model.
        archives: the number of its archive, by model.
        demands: of each archive, what a model that is requested often demands of an instance, and one that seldom is.
    """

    rates: Floats
    archives: NDArray[np.int64]
    demands: tuple[Demand, ...]

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """The index of its demand, by model."""
        return 2 * self.archives + (self.rates < _OFTEN)

    def of(self, field: str) -> Floats:
        """A field of Demand, by model."""
        return np.array([getattr(demand, field) for demand in self.demands], dtype=float)[self.kinds]

    def times(self, factor: float) -> "Workload":
        """The same models with ``factor`` times the requests."""
        return Workload(self.rates * factor, self.archives, self.demands)

    @property
    def overhead_bytes(self) -> float:
        """Memory of an instance before the first model: the empty server, and what copies share."""
        return max(demand.server_bytes + demand.shared_bytes for demand in self.demands)


def workload(profiles: Shares, traffic: Traffic, host: Host, batch: int = 0) -> Workload:
    """The models of ``traffic`` as copies of the archives, in their shares.

    Args:
        batch: rows in a request; 0: the least that was profiled.

    Raises:
        EnsembleError: an instance cannot hold one of them.
    """
    demands = [demand_of(profile, host, batch, rested=rested) for profile, _ in profiles for rested in (False, True)]
    archives = spread([share for _, share in profiles], len(traffic.rates))
    if traffic.names:
        known = {profile.archive.removesuffix(".tar.gz"): index for index, (profile, _) in enumerate(profiles)}
        names = (name.removesuffix(".tar.gz") for name in traffic.names)
        archives = np.array([known.get(name, index) for name, index in zip(names, archives, strict=True)])
    work = Workload(traffic.rates, archives, tuple(demands))
    for (profile, _), demand in zip(profiles, demands[::2], strict=True):
        least = work.overhead_bytes + demand.memory_bytes
        if least > host.memory_bytes:
            raise EnsembleError(
                f"one {profile.archive} ({least / 2**20:.0f} MiB with the server) does not fit into the "
                f"{host.memory_bytes / 2**20:.0f} MiB for models of {host.name}",
                cure="choose an instance with more memory",
            )
        if host.disk_bytes is not None and demand.disk_bytes > host.disk_bytes:
            raise EnsembleError(
                f"one {profile.archive} ({demand.disk_bytes / 2**20:.0f} MiB unpacked) does not fit on the "
                f"{host.disk_bytes / 2**20:.0f} MiB of disk of {host.name}",
                cure="choose an instance with a larger disk",
            )
    return work


def spread(shares: Sequence[float], count: int) -> NDArray[np.int64]:
    """Assigns models to archives, by number, so that each archive gets its share of popular and of rare models."""
    parts = np.array(shares, dtype=float) / sum(shares)
    assigned = np.zeros(len(parts))
    archives = np.zeros(count, dtype=np.int64)
    for model in range(count):
        archives[model] = archive = int(np.argmax(parts * (model + 1) - assigned))
        assigned[archive] += 1
    return archives
