"""The search: one setting after the other, each improvement believed only after several rounds in turn.

It begins with the present settings. Neighbors of the best candidate so far differ from it in one setting; each is
measured briefly beside it, and one that looks better has to win a duel: rounds in which both are measured one right
after the other. At the end, rounds of the best against the present settings give the ratio that is reported.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.analyzer import ClientTimes
from triton_ensembles.measuring.tuning.goal import Goal, ratio
from triton_ensembles.measuring.tuning.records import Duel, Records
from triton_ensembles.measuring.tuning.space import PRESENT, Candidate, Setting


class BudgetSpentError(Exception):
    """There is no time left for what would come next."""


class Budget:
    """A number of seconds from now on.

    Args:
        clock: gives the time in seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._start, self.seconds = clock, clock(), seconds

    @property
    def spent(self) -> float:
        return self._clock() - self._start

    @property
    def left(self) -> float:
        return self.seconds - self.spent

    def demand(self, seconds: float) -> None:
        """Raises :class:`BudgetSpentError` if less is left."""
        if seconds > self.left:
            raise BudgetSpentError


HOPELESS = 0.9  # of the best candidate's, at its concurrency: not measured any further
LEAST_GAIN = 1.03
MOST_ROUNDS, LOST_AT = 5, 2  # rounds of a duel; with this many lost it is over
FINAL_ROUNDS = 5


def rungs(most: int) -> tuple[int, ...]:
    """The concurrencies that are tried: two to an octave, up to ``most``."""
    octaves = [1 << power for power in range(most.bit_length())]
    between = [octave * 3 // 2 for octave in octaves]
    return tuple(sorted(step for step in {*octaves, *between, most} if step <= most))


def climb(measure: Callable[[int], ClientTimes], goal: Goal, steps: Sequence[int], first: ClientTimes) -> ClientTimes:
    """The best times that are reached from ``first`` in the direction of better ones.

    It ends where the direction turns, or at the second step in a row that gains nothing.
    """
    best, direction, lost = first, goal.direction(first), 0
    place = steps.index(first.concurrency) + direction
    while 0 <= place < len(steps) and lost < 2:
        times = measure(steps[place])
        best, lost = (times, 0) if goal.score(times) > goal.score(best) else (best, lost + 1)
        if goal.direction(times) != direction:
            break
        place += direction
    return best


class RejectedError(Exception):
    """A candidate cannot be used; the message is the reason, in one line."""


class Bench(Protocol):
    """Measures candidates."""

    def load(self, candidate: Candidate) -> None:
        """Make a candidate ready. Raises :class:`RejectedError`."""

    def release(self, candidate: Candidate) -> None:
        """Free what a candidate takes that will not be measured again soon."""

    def measure(self, candidate: Candidate, concurrency: int) -> ClientTimes:
        """Raises :class:`RejectedError`."""


@dataclass(frozen=True)
class Outcome:
    """The result of a search.

    Attributes:
        best: the present settings, or better ones.
        concurrency: at which the best is best.
        final: the rounds of the best, or of the one that looked best, against the present settings; None if it is the
            present ones, or the search was interrupted.
        challenger: whom ``final`` is about.
        ended: why the search ended, in words.
    """

    best: Candidate
    concurrency: int
    final: Duel | None
    challenger: Candidate
    ended: str
    records: Records
    interrupted: bool = False

    @property
    def proven(self) -> bool:
        """Return whether the best is better than the present settings in the final rounds."""
        return self.final is not None and self.best == self.challenger


class Search:
    """Searches the settings.

    Args:
        settings: in the order in which they are tried: what matters most first.
        most: the most concurrent requests.
    """

    def __init__(
        self, settings: Sequence[Setting], goal: Goal, bench: Bench, budget: Budget, most: int, progress: Progress
    ) -> None:
        self._settings, self._goal, self._bench, self._budget = settings, goal, bench, budget
        self._rungs, self._say = rungs(most), progress
        self.records = Records()
        self._tried = {PRESENT}
        self._best, self._concurrency = PRESENT, 1
        self._point_seconds = self._load_seconds = 0.0  # the longest so far

    def run(self) -> Outcome:
        """Search until nothing is better, the budget is spent, or a signal interrupts it.

        Raises:
            RejectedError: the present settings cannot be measured.
            BudgetSpentError: not even they could be.
        """
        ended, interrupted, final = "no change of a setting is better", False, None
        challenger = PRESENT
        try:
            try:
                self._begin()
                while any([self._improve(setting) for setting in self._settings]):  # noqa: C419 - all of them
                    pass
            except BudgetSpentError:
                ended = "the time is over"
            challenger = self._best
            if challenger != PRESENT:
                final = self._final()
        except KeyboardInterrupt:
            if not self.records.trials():
                raise
            ended, interrupted = "it was interrupted", True
        if final and final.gain <= 1:
            self._say(f"{challenger}: {final.ratio:.2f} times the present settings in the final rounds: they stay")
            self._best = PRESENT
            self._concurrency = self.records.best_concurrency(PRESENT, self._goal)
        return Outcome(self._best, self._concurrency, final, challenger, ended, self.records, interrupted)

    def _begin(self) -> None:
        self._load(PRESENT)
        measured = self._measure(PRESENT, self._rungs[0])
        best = climb(self._next_of_present, self._goal, self._rungs, measured)
        self._concurrency = best.concurrency
        self._say(f"{PRESENT}: {best}")
        if not self._goal.holds(best):
            self._say(f"the present settings do not reach {self._goal}; the search goes for what comes nearest")

    def _next_of_present(self, concurrency: int) -> ClientTimes:
        self._budget.demand(self._point_seconds)
        return self._measure(PRESENT, concurrency)

    def _improve(self, setting: Setting) -> bool:
        """Try values of one setting; the best then has the one that won, if one did."""
        for value, direction in setting.nearby(self._best.value(setting)):
            if self._try(self._best.having(setting, value)):
                for further in setting.beyond(value, direction):
                    if not self._try(self._best.having(setting, further)):
                        break
                return True
        return False

    def _try(self, candidate: Candidate) -> bool:
        """Return whether the candidate is better than the best, which it then becomes."""
        if candidate in self._tried:
            return False
        self._demand(self._load_seconds + 3 * self._point_seconds)
        self._tried.add(candidate)
        loser = candidate
        try:
            self._load(candidate)
            if self._screen(candidate) and self._wins(candidate):
                loser, self._best = self._best, candidate
        except RejectedError as error:
            self.records.dropped[candidate] = str(error)
            self._say(f"{candidate}: dropped, {error}")
        self._concurrency = self.records.best_concurrency(self._best, self._goal)
        if loser != PRESENT:
            self._bench.release(loser)
        return loser != candidate

    def _screen(self, candidate: Candidate) -> bool:
        """Return whether the candidate looks better than the best, both measured now."""
        first = self._measure(candidate, self._concurrency)
        best = self._measure(self._best, self._concurrency)
        top = first
        hopeless = ratio(first, best, throughput=self._goal.counts_throughput(holds=self._goal.holds(best))) < HOPELESS
        if not hopeless or first.p99_ms <= best.p99_ms:
            top = climb(partial(self._measure_in_time, candidate), self._goal, self._rungs, first)
        better = self._goal.score(top) > self._goal.score(best)
        self._say(f"{candidate}: {top}; the best so far: {best}{'' if better else '; not better'}")
        return better

    def _wins(self, candidate: Candidate) -> bool:
        """Return whether the candidate wins rounds in turn with the best. They end early when it is decided."""

        def is_open(duel: Duel) -> bool:
            decided = duel.losses >= LOST_AT or duel.wins > MOST_ROUNDS - LOST_AT
            if decided or len(duel.rounds) == MOST_ROUNDS:
                return False
            self._demand(2 * self._point_seconds)
            return True

        concurrency = self.records.best_concurrency(candidate, self._goal)
        if all(trial.times.concurrency != concurrency for trial in self.records.of(self._best)):
            self._measure_in_time(self._best, concurrency)  # so that not the concurrency alone wins
        duel = self._rounds(candidate, self._best, is_open)
        won = duel.losses < LOST_AT and duel.gain >= LEAST_GAIN
        rounds = f"{duel.wins} of {len(duel.rounds)} rounds won"
        self._say(f"{candidate}: {duel.ratio:.2f} times the best so far, {rounds}{': kept' if won else ''}")
        return won

    def _final(self) -> Duel | None:
        """Rounds of the best and the present settings in turn, as many as there is time for."""

        def is_open(duel: Duel) -> bool:
            return len(duel.rounds) < FINAL_ROUNDS and self._budget.left >= 2 * self._point_seconds

        self._say(f"the best ({self._best}) against the present settings, {FINAL_ROUNDS} rounds")
        duel = self._rounds(self._best, PRESENT, is_open)
        return duel if duel.rounds else None

    def _rounds(self, candidate: Candidate, reference: Candidate, is_open: Callable[[Duel], bool]) -> Duel:
        """Measure two candidates in turn, each at its best concurrency."""
        ours, theirs = (self.records.best_concurrency(each, self._goal) for each in (candidate, reference))
        duel = Duel(self._goal)
        while is_open(duel):
            duel.rounds.append((self._measure(candidate, ours), self._measure(reference, theirs)))
        return duel

    def _measure_in_time(self, candidate: Candidate, concurrency: int) -> ClientTimes:
        self._demand(self._point_seconds)
        return self._measure(candidate, concurrency)

    def _load(self, candidate: Candidate) -> None:
        before = self._budget.spent
        try:
            self._bench.load(candidate)
        finally:
            self._load_seconds = max(self._load_seconds, self._budget.spent - before)

    def _measure(self, candidate: Candidate, concurrency: int) -> ClientTimes:
        before = self._budget.spent
        times = self._bench.measure(candidate, concurrency)
        self._point_seconds = max(self._point_seconds, self._budget.spent - before)
        self.records.add(candidate, times)
        return times

    def _demand(self, seconds: float) -> None:
        """Raises :class:`BudgetSpentError` if this would leave no time for the final rounds."""
        self._budget.demand(seconds + 2 * FINAL_ROUNDS * self._point_seconds)
