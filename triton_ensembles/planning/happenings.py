"""What the steady state does not show, simulated: the time after a deploy, and a burst of requests."""

from dataclasses import dataclass

import numpy as np

from triton_ensembles.planning.arrivals import Phase, drawn
from triton_ensembles.planning.plan import Choice
from triton_ensembles.planning.simulation import simulate
from triton_ensembles.planning.traffic import Traffic

_WINDOWS = 200  # of the simulated time
_NEAR = 0.02  # of all requests: as cold as in the steady state
_MINUTE = 60.0
_BEFORE = 0.3  # of the requests, before a burst


@dataclass(frozen=True)
class Deploy:
    """After instances have started with nothing on their disks.

    Attributes:
        first: share of cold requests in the first minute.
        seconds: until no more requests are cold than in the steady state; None: longer than was simulated.
        simulated: seconds.
        not_ready: share of the requests until then that are refused.
    """

    first: float
    seconds: float | None
    simulated: float
    not_ready: float

    def __str__(self) -> str:
        when = f"the steady state after {_time(self.seconds)}"
        if self.seconds is None:
            when = f"the steady state is not reached in {_time(self.simulated)}"
        refused = f", {self.not_ready:.1%} refused (ModelNotReadyException)" if self.not_ready else ""
        return f"{self.first:.0%} cold in the first minute{refused}, {when}".replace("%", " %")


@dataclass(frozen=True)
class Burst:
    """Requests that come many times as often as usual.

    Attributes:
        p50, p99: seconds, of all requests of the burst that are answered; None: none is.
        cold: share of them.
        not_ready: share of them that are refused.
        after: seconds from the end of the burst until all its requests are answered.
    """

    factor: float
    seconds: float
    p50: float | None
    p99: float | None
    cold: float
    not_ready: float
    after: float

    def __str__(self) -> str:
        refused = f", {self.not_ready:.1%} refused".replace("%", " %") if self.not_ready else ""
        times = "nothing is answered"
        if self.p50 is not None and self.p99 is not None:
            times = f"p50 {self.p50 * 1000:.3g} ms, p99 {self.p99 * 1000:.4g} ms"
        cold = f"{self.cold:.1%} cold".replace("%", " %")
        during = f"{self.factor:g} times the requests for {self.seconds:g} s"
        return f"{during}: {times}, {cold}{refused}; all answered {_time(self.after)} after it"


def deploy(choice: Choice, traffic: Traffic, requests: int) -> Deploy:
    """Simulate the first requests of a deployed choice."""
    found = simulate(choice.work, choice.host, choice.count, drawn(traffic, requests), empty=True)
    first = found.cold[: max(1, int((found.times <= _MINUTE).sum()))]
    parts = np.array_split(found.cold, _WINDOWS)
    wanted = choice.day.cold + _NEAR
    shares = np.array([part.mean() if len(part) else 0.0 for part in parts])
    noise = np.sqrt(wanted * (1 - min(wanted, 1.0)) / max(1, len(parts[0])))
    above = np.flatnonzero(shares > wanted + 2 * noise)
    begins = np.cumsum([len(part) for part in parts])
    simulated = float(found.times[-1])
    seconds: float | None = 0.0
    if len(above):
        last = int(begins[above[-1]])
        seconds = float(found.times[last]) if last < len(found.times) and above[-1] < _WINDOWS - 2 else None
    return Deploy(float(first.mean()), seconds, simulated, found.prediction.not_ready)


def burst(choice: Choice, traffic: Traffic, factor: float, seconds: float, requests: int) -> Burst:
    """Simulate a burst in the middle of the traffic's average.

    Args:
        requests: to simulate, at least; more where the burst has more.
    """
    during = int(seconds * factor * traffic.rate)
    count = max(requests, 2 * during)
    before = _BEFORE * (count - during) / traffic.rate
    phases = (Phase(before, 1.0), Phase(seconds, factor), Phase(1.0, 1.0))
    found = simulate(choice.work, choice.host, choice.count, drawn(traffic, count, phases))
    inside = (found.times >= before) & (found.times < before + seconds)
    times = found.seconds[inside]
    answered = times[np.isfinite(times)]
    p50, p99 = (float(each) for each in np.percentile(answered, (50, 99))) if len(answered) else (None, None)
    ends = found.times[inside] + np.where(np.isfinite(times), times, 0.0)
    after = float(ends.max()) - (before + seconds) if len(ends) else 0.0
    return Burst(
        factor,
        seconds,
        p50,
        p99,
        float(found.cold[inside].mean()) if len(times) else 0.0,
        float((~np.isfinite(times)).mean()) if len(times) else 0.0,
        max(0.0, after),
    )


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{0 if seconds >= 10 * size else 1}f} {unit}"
    return f"{seconds:.{0 if seconds >= 10 else 1}f} s"
