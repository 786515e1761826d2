"""The processor cores of a simulated instance, and the jobs that share them.

Jobs run at full speed while there are enough cores, else all are slowed down alike. So each job ends when a clock,
which runs at that speed, shows a time that is known when the job begins.
"""

from heapq import heappop, heappush
from typing import NamedTuple

from triton_ensembles.measuring.planning.simulated_model import SimulatedModel

NEVER = float("inf")
ANSWER, FETCH, LOAD, UNLOAD, TURN = range(5)


class Job(NamedTuple):
    """Ends when the clock shows ``end``; ``number`` keeps those that end together in order."""

    end: float
    number: int
    kind: int
    model: SimulatedModel
    request: int
    cores: float


class SharedCores:
    """Call ``advance`` with the present time before anything else, and ``plan`` after it.

    Attributes:
        now: the present time in seconds.
        next: when the next job ends; NEVER without one.
        core_seconds: that jobs which have begun take.
    """

    def __init__(self, cores: int) -> None:
        self.now = 0.0
        self.next = NEVER
        self.core_seconds = 0.0
        self._cores = cores
        self._clock = 0.0
        self._speed = 1.0
        self._demanded = 0.0  # cores
        self._jobs: list[Job] = []
        self._number = 0

    def advance(self, now: float) -> None:
        """Let the clock run to ``now``."""
        self._clock += (now - self.now) * self._speed
        self.now = now

    def plan(self) -> None:
        """Find the speed and the next end of a job."""
        self._speed = self._cores / self._demanded if self._demanded > self._cores else 1.0
        self.next = self.now + max(0.0, self._jobs[0].end - self._clock) / self._speed if self._jobs else NEVER

    def begin(self, kind: int, model: SimulatedModel, seconds: float, core_seconds: float, request: int = -1) -> None:
        """Begin a job that would take so long alone."""
        cores = core_seconds / seconds if seconds > 0 else 0.0
        self._number += 1
        heappush(self._jobs, Job(self._clock + seconds, self._number, kind, model, request, cores))
        self._demanded += cores
        self.core_seconds += core_seconds

    def pop(self) -> Job:
        """Return the job that has ended."""
        job = heappop(self._jobs)
        self._demanded = max(0.0, self._demanded - job.cores) if self._jobs else 0.0
        return job
