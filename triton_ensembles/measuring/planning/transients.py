"""The time after a deploy, until as few requests are cold as in the steady state."""

from dataclasses import dataclass

import numpy as np

from triton_ensembles.measuring.planning.invocations import duration
from triton_ensembles.measuring.planning.plan import Choice
from triton_ensembles.measuring.planning.simulation import simulate
from triton_ensembles.measuring.planning.traffic import Traffic, sample

_WINDOWS = 200  # of the simulated time
_NEAR = 0.02  # of all requests: as cold as in the steady state
_MINUTE = 60.0
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
