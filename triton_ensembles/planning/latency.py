"""Quantiles of the time that answers take, mixed from all models, instances and hours."""

import numpy as np

from triton_ensembles.planning.demand import Floats
from triton_ensembles.planning.prediction import Latency
from triton_ensembles.planning.residency import Residency
from triton_ensembles.planning.workload import Workload

_GRID = np.geomspace(1e-5, 1e5, 1601)  # seconds; a step is 1.5 %
_EDGES = np.append(1 - np.geomspace(1, 0.002, 96), 1.0)  # closer together where the quantiles are that people ask for
_PLACES, _WEIGHTS = (_EDGES[1:] + _EDGES[:-1]) / 2, np.diff(_EDGES)
_BUSY_STEPS = 12  # classes of models by the share of requests that wait
_DELAYS = (np.arange(8) + 0.5) / 8  # a request that waits for a load comes at any time of it


class Mixture:
    """The distribution of the times of answers, as the share of requests a second that end within each of a grid."""

    def __init__(self) -> None:
        self._warm = np.zeros_like(_GRID)
        self._every = np.zeros_like(_GRID)
        self._warm_rate = 0.0
        self._rate = 0.0

    def add(self, other: "Mixture", weight: float = 1.0) -> None:
        """Mix ``other`` in, so many times."""
        self._warm += weight * other._warm
        self._every += weight * other._every
        self._warm_rate += weight * other._warm_rate
        self._rate += weight * other._rate

    def warm(self) -> Latency | None:
        """Of requests that find their model loaded."""
        return _quantiles(self._warm, self._warm_rate)

    def every(self) -> Latency | None:
        """Of all requests."""
        return _quantiles(self._every, self._rate)

    def instance(
        self,
        work: Workload,
        sharing: tuple[Floats, Floats],
        waits: tuple[Floats, Floats],
        found: Residency,
        loads: tuple[Floats, Floats, Floats],
        turns: tuple[float, float],
    ) -> None:
        """Add the requests of one instance.

        Args:
            sharing: factors by which answers are slowed down, and the chance of each.
            waits: by model, the share of requests that wait for others of it, and how long on average.
            loads: by model, seconds from a miss until it answers as fast as ever, seconds more with a download, the
                share with one.
            turns: the chance that a load waits for others' unloads, and for how many seconds at most.
        """
        chance, seconds = waits
        delay, fetch, fetched = loads
        chance_late, longest = turns
        late_by = [(1 - chance_late, 0.0), *((chance_late / len(_DELAYS), longest * place) for place in _DELAYS)]
        for kind, demand in enumerate(work.demands):
            of_kind = np.flatnonzero(work.kinds == kind)
            if not len(of_kind):
                continue
            times = _spread(demand.answer_seconds, *sharing)
            steps = np.minimum((chance[of_kind] * _BUSY_STEPS).astype(int), _BUSY_STEPS)
            for step in np.unique(steps):
                models = of_kind[steps == step]
                rates = work.rates[models]
                rate = float(rates.sum())
                share = float((rates * chance[models]).sum()) / rate
                mean = float((rates * seconds[models]).sum()) / rate
                warm = _within(times, share, mean)
                cold = rates * found.cold[models]
                missed = rates * found.loads[models]
                hits = rate - float(cold.sum())
                self._warm += hits * warm
                self._warm_rate += hits
                self._rate += rate
                self._every += hits * warm
                for number, extra in ((1 - fetched[models], 0.0), (fetched[models], 1.0)):
                    part = missed * number
                    if (loading := float(part.sum())) <= 0:
                        continue
                    late = float((part * (delay[models] + extra * fetch[models])).sum()) / loading
                    waiters = float(((cold - missed) * number).sum())
                    for share, more in late_by:
                        self._every += loading * share * _later(warm, late + more)
                        for place in _DELAYS:
                            self._every += waiters * share / len(_DELAYS) * _later(warm, (late + more) * place)


def _spread(seconds: Floats, factors: Floats, chances: Floats) -> Floats:
    """Values of the product of two independent ones, at _PLACES of their distribution."""
    values = np.outer(seconds, factors).ravel()
    weights = np.outer(np.full(len(seconds), 1 / len(seconds)), chances).ravel()
    order = np.argsort(values, kind="stable")  # equal values in the same order on every processor
    places = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(_PLACES, places, values[order])


def _within(times: Floats, share: float, mean: float) -> Floats:
    """The chance that a time, with a wait before it for a ``share`` of them, is over within each of the grid."""
    after = _GRID[:, None] - times[None, :]
    done = after >= 0
    late = np.exp(-np.maximum(after, 0.0) / mean) if share > 0 and mean > 0 else 0.0
    return np.asarray(((done * (1 - share * late)) * _WEIGHTS).sum(axis=1))


def _later(within: Floats, seconds: float) -> Floats:
    return np.interp(_GRID - seconds, _GRID, within, left=0.0)


def _quantiles(within: Floats, rate: float) -> Latency | None:
    if rate <= 0:
        return None
    share = within / rate
    return Latency(*(float(np.interp(place, share, _GRID)) for place in (0.5, 0.95, 0.99)))
