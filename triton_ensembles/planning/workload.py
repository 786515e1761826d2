"""The models of an endpoint: how often each is asked, and which archive it is a copy of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.planning.demand import Demand, Floats, demand_of
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.traffic import Traffic
from triton_ensembles.profiling.profile import Profile

_OFTEN = 1.0  # requests a second: with fewer, most of them find a model that has rested for half a second and more
Shares = Sequence[tuple[Profile, float]]


@dataclass(frozen=True, eq=False)
class Workload:
    """Models, the most often asked first where the traffic is so.

    Attributes:
        rates: requests a second, by model.
        archives: of each model, the number of its archive.
        demands: what each archive demands of an instance: of models that are asked often and, after it, seldom.
    """

    rates: Floats
    archives: NDArray[np.int64]
    demands: tuple[Demand, ...]

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """Of each model, the index of what it demands."""
        return 2 * self.archives + (self.rates < _OFTEN)

    def of(self, field: str) -> Floats:
        """A field of Demand, by model."""
        return np.array([getattr(each, field) for each in self.demands], dtype=float)[self.kinds]

    @property
    def overhead_bytes(self) -> float:
        """Memory of an instance before the first model: the empty server, and what copies share."""
        return max(each.server_bytes + each.shared_bytes for each in self.demands)


def workload(profiles: Shares, traffic: Traffic, host: Host, batch: int = 0) -> Workload:
    """The models of ``traffic`` as copies of the archives, in their shares."""
    demands = [demand_of(profile, host, batch, rested=rested) for profile, _ in profiles for rested in (False, True)]
    archives = spread([share for _, share in profiles], len(traffic.rates))
    if traffic.names:
        known = {name: index for index, (profile, _) in enumerate(profiles) for name in _names(profile)}
        archives = np.array([known.get(name, each) for name, each in zip(traffic.names, archives, strict=True)])
    return Workload(traffic.rates, archives, tuple(demands))


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
