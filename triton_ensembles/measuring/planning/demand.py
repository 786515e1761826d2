"""The demand of one archive on an instance: memory, time to load, time to answer; from its profile."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.profiling.profile import Answers, Profile

Floats = NDArray[np.float64]
_CORE_BOUND = 0.9  # of the profiled machine's cores: more instances of the model's steps would not have answered more
_QUANTILES = 64
_TAIL = 0.25  # of the way from p95 to p99, beyond which no request is taken to go


@dataclass(frozen=True)
class Demand:
    """The demand of one archive on one instance, while nothing else runs there.

    Attributes:
        memory_bytes: of each loaded copy.
        shared_bytes: of the first copy, beyond that: libraries and pages that copies share.
        server_bytes: of the empty server.
        disk_bytes: of each copy on the disk.
        fetch_seconds, fetch_core_seconds: to download and unpack it.
        load_seconds, load_core_seconds: to load it from the disk.
        first_seconds: by how much the first answer after a load takes longer than others.
        read_bytes: what a load reads from the disk.
        unload_seconds: until its memory is free.
        answer_seconds: quantiles of the time of an answer, evenly spaced.
        beside_seconds: the same beside a load or an unload of another model.
        answer_core_seconds: processor time of an answer.
        lanes: how many requests of one copy are answered at a time.
    """

    memory_bytes: float
    shared_bytes: float
    server_bytes: float
    disk_bytes: float
    fetch_seconds: float
    fetch_core_seconds: float
    load_seconds: float
    load_core_seconds: float
    first_seconds: float
    read_bytes: float
    unload_seconds: float
    answer_seconds: Floats
    beside_seconds: Floats
    answer_core_seconds: float
    lanes: int

    @property
    def mean_seconds(self) -> float:
        """Mean time of an answer."""
        return float(self.answer_seconds.mean())


def demand_of(profile: Profile, host: Host, batch: int = 0, *, rested: bool = False) -> Demand:
    """The demand of the profile's archive on ``host``.

    Processor time stays as it was measured: a faster core is not known to be one. So does time on the clock; where
    ``host`` has fewer cores than were used, the simulation stretches it. Only the lanes of a model that was bound by
    the cores of the profiled machine grow with them.

    Args:
        batch: rows in a request; 0: the least that was measured.
        rested: whether the model is requested seldom, so that its answers take longer.

    Raises:
        EnsembleError: no request of this batch was measured.
    """
    answers = _answers(profile, batch)
    alone, least = answers[0], _answers(profile, 0)[0]  # the first answer and rested ones are of the fewest rows
    seconds = _quantiles(alone)
    beside = seconds + _quantiles(profile.beside or least) - _quantiles(least)
    if rested:
        seconds = seconds + np.maximum(0.0, _quantiles(profile.rested) - _quantiles(least))
        least = profile.rested
    copy, shared = memory_of(profile)
    network, rate = host.network_rate or float("inf"), host.disk_rate or float("inf")
    return Demand(
        memory_bytes=copy,
        shared_bytes=shared,
        server_bytes=float(profile.server.bytes),
        disk_bytes=float(profile.unpacked_bytes + profile.temporary_bytes),
        fetch_seconds=profile.packed_bytes / network + max(profile.unpack_seconds, profile.unpacked_bytes / rate),
        fetch_core_seconds=profile.unpack_core_seconds,
        load_seconds=max(profile.load_seconds, profile.unpacked_bytes / rate),
        load_core_seconds=profile.load_core_seconds,
        first_seconds=max(0.0, profile.first_seconds - least.concurrency / least.requests_per_second),
        read_bytes=float(profile.unpacked_bytes),
        unload_seconds=profile.unload_seconds,
        answer_seconds=seconds,
        beside_seconds=np.maximum(seconds, beside),
        answer_core_seconds=alone.core_seconds,
        lanes=_lanes(answers, profile.machine.cores, host.cores),
    )


def memory_of(profile: Profile) -> tuple[float, float]:
    """Bytes of one more copy, and bytes that all copies share: a line through the fewest and the most that were
    loaded. Any copy may have answered its largest batch, and keeps what the profile's copy has kept."""
    memory = [(loaded.models, float(loaded.memory.bytes)) for loaded in profile.loaded]
    (_, first), (count, last) = memory[0], memory[-1]
    slope = (last - first) / (count - 1) if count > 1 else first
    copy = slope if slope > 0 else last / count
    return copy + (profile.kept_bytes or 0), max(0.0, first - copy)


def _answers(profile: Profile, batch: int) -> list[Answers]:
    """The profile's answers of the batch, by concurrency."""
    batch = batch or min(answers.batch for answers in profile.answers)
    measured = [answers for answers in profile.answers if answers.batch == batch]
    measured.sort(key=lambda answers: answers.concurrency)
    if not measured or measured[0].concurrency != 1:
        batches = sorted({answers.batch for answers in profile.answers if answers.concurrency == 1})
        raise EnsembleError(
            f"the profile of {profile.archive} has no answers of {batch} rows at one request at a time",
            cure=f"plan with one of its batches ({', '.join(map(str, batches)) or 'none'}), or profile it again",
        )
    return measured


def _quantiles(answers: Answers) -> Floats:
    """Evenly spaced quantiles through p50, p95 and p99. The least is such that the mean is what was measured: one
    request at a time, back to back."""
    p50, p95, p99 = answers.p50_seconds, answers.p95_seconds, answers.p99_seconds
    most = p99 + _TAIL * (p99 - p95)
    shares, values = [0.5, 0.95, 0.99, 1.0], [p50, p95, p99, most]
    above = sum((q - p) * (a + b) / 2 for (p, q), (a, b) in zip(pairwise(shares), pairwise(values), strict=True))
    least = 4 * (answers.concurrency / answers.requests_per_second - above) - p50
    least = min(max(least, 0.2 * p50), p50)
    places = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return np.interp(places, [0.0, *shares], [least, *values])


def _lanes(answers: list[Answers], profiled_cores: int, cores: int) -> int:
    """The number of requests that the copy worked on at a time when it answered the most."""
    most = max(answers, key=lambda measured: measured.requests_per_second)
    lanes = most.requests_per_second / answers[0].requests_per_second
    if most.requests_per_second * most.core_seconds >= _CORE_BOUND * profiled_cores:
        lanes *= max(1.0, cores / profiled_cores)
    return max(1, round(lanes))
