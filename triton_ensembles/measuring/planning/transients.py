"""The time after a deploy, and a burst of requests."""

from dataclasses import dataclass

import numpy as np

from triton_ensembles.measuring.planning.arrivals import Phase, drawn, sample
from triton_ensembles.measuring.planning.invocations import duration
from triton_ensembles.measuring.planning.plan import Choice
from triton_ensembles.measuring.planning.simulation import simulate
from triton_ensembles.measuring.planning.traffic import Traffic

_WINDOWS = 200  # of the simulated time
_NEAR = 0.02  # of all requests: as cold as in the steady state
_MINUTE = 60.0
_BEFORE = 0.3  # of the requests, before a burst
_MOST_OF_DEPLOY = 200_000  # requests


@dataclass(frozen=True)
class Deploy:
    """The time after instances have started with nothing on their disks.

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
        when = f"the steady state is not reached in {duration(self.simulated)}"
        if self.seconds is not None:
            when = f"the steady state after {duration(self.seconds)}"
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
        return f"{during}: {times}, {cold}{refused}; all answered {duration(self.after)} after it"


def deploy(choice: Choice, traffic: Traffic, requests: int) -> Deploy:
    """Simulate the first requests of a deployed choice."""
    after = simulate(
        choice.work, choice.host, choice.count, sample(traffic, min(requests, _MOST_OF_DEPLOY)).requests, empty=True
    )
    first = after.cold[: max(1, int((after.times <= _MINUTE).sum()))]
    windows = np.array_split(after.cold, _WINDOWS)
    steady = choice.prediction.cold + _NEAR
    shares = np.array([window.mean() if len(window) else 0.0 for window in windows])
    noise = np.sqrt(steady * (1 - min(steady, 1.0)) / max(1, len(windows[0])))
    above = np.flatnonzero(shares > steady + 2 * noise)
    begins = np.cumsum([len(window) for window in windows])
    seconds: float | None = 0.0
    if len(above):
        last = int(begins[above[-1]])
        seconds = float(after.times[last]) if last < len(after.times) and above[-1] < _WINDOWS - 2 else None
    return Deploy(float(first.mean()), seconds, float(after.times[-1]), after.prediction.not_ready)


def burst(choice: Choice, traffic: Traffic, factor: float, seconds: float, requests: int) -> Burst:
    """Simulate a burst in the middle of the traffic's average.

    Args:
        requests: to simulate, at least; more where the burst has more.
    """
    during = int(seconds * factor * traffic.rate)
    count = max(requests, 2 * during)
    before = _BEFORE * (count - during) / traffic.rate
    phases = (Phase(before, 1.0), Phase(seconds, factor), Phase(1.0, 1.0))
    after = simulate(choice.work, choice.host, choice.count, drawn(traffic, count, phases))
    inside = (after.times >= before) & (after.times < before + seconds)
    times = after.seconds[inside]
    is_answered = np.isfinite(times)
    p50, p99 = np.percentile(times[is_answered], (50, 99)).tolist() if is_answered.any() else (None, None)
    ends = after.times[inside] + np.where(is_answered, times, 0.0)
    return Burst(
        factor,
        seconds,
        p50,
        p99,
        float(after.cold[inside].mean()) if len(times) else 0.0,
        float((~is_answered).mean()) if len(times) else 0.0,
        max(0.0, float(ends.max()) - (before + seconds)) if len(ends) else 0.0,
    )
