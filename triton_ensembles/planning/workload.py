"""The models of an endpoint: how often each is asked, and which archive it is a copy of."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.planning.demand import Demand, Floats, demand_of
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.traffic import Traffic
from triton_ensembles.profiling.profile import Profile

Shares = Sequence[tuple[Profile, float]]


@dataclass(frozen=True, eq=False)
class Workload:
    """Models, the most often asked first where the traffic is so.

    Attributes:
        rates: requests a second, by model.
        kinds: of each model, the index of its archive in ``demands``.
        demands: what each archive demands of an instance.
    """

    rates: Floats
    kinds: NDArray[np.int64]
    demands: tuple[Demand, ...]

    def of(self, field: str) -> Floats:
        """A field of Demand, by model."""
        return np.array([getattr(each, field) for each in self.demands], dtype=float)[self.kinds]

    @property
    def overhead_bytes(self) -> float:
        """Memory of an instance before the first model: the empty server, and what copies share."""
        return max(each.server_bytes + each.shared_bytes for each in self.demands)


def workload(profiles: Shares, traffic: Traffic, host: Host, batch: int = 0) -> Workload:
    """The models of ``traffic`` as copies of the archives, in their shares."""
    demands = tuple(demand_of(profile, host, batch) for profile, _ in profiles)
    kinds = spread([share for _, share in profiles], len(traffic.rates))
    if traffic.names:
        known = {name: index for index, (profile, _) in enumerate(profiles) for name in _names(profile)}
        kinds = np.array([known.get(name, kind) for name, kind in zip(traffic.names, kinds, strict=True)])
    return Workload(traffic.rates, kinds, demands)


def spread(shares: Sequence[float], count: int) -> NDArray[np.int64]:
    """So many models divided among archives, each with its share of the often and of the seldom asked ones."""
    wanted = np.array(shares, dtype=float) / sum(shares)
    given = np.zeros(len(wanted))
    kinds = np.zeros(count, dtype=np.int64)
    for number in range(count):
        kinds[number] = kind = int(np.argmax(wanted * (number + 1) - given))
        given[kind] += 1
    return kinds


def _names(profile: Profile) -> tuple[str, str]:
    return profile.archive, profile.archive.removesuffix(".tar.gz")
