"""All choices of a plan: forms of the archives, instance types and counts, with what each does and costs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from triton_ensembles.errors import EnsembleError
from triton_ensembles.planning.arrivals import busiest_hours, drawn
from triton_ensembles.planning.closed_form import closed_form
from triton_ensembles.planning.day import over_the_day
from triton_ensembles.planning.goal import Goal
from triton_ensembles.planning.host import Host
from triton_ensembles.planning.predict import workload_for
from triton_ensembles.planning.prediction import Prediction
from triton_ensembles.planning.prices import HOURS, HOURS_OF_YEAR, Quote
from triton_ensembles.planning.simulation import simulate
from triton_ensembles.planning.traffic import Recorded, Traffic
from triton_ensembles.planning.workload import Shares, Workload

DIFFER = 0.02
"""Of all requests: by more the engines may not differ in the share of hits without its being said."""
_MOST_FACTOR = 1e4
_STEPS = 24  # of a search for the most requests a second


@dataclass(frozen=True, eq=False)
class Choice:
    """A number of instances of a type, serving archives of a form.

    Attributes:
        form: "drawn", "fused", or "" where the archives are of one form, whichever.
        day: the whole time, in closed form; ``peak``: its busiest hour.
        simulated: None where nothing was simulated.
        met: whether the goal is met, in the busiest hour too.
    """

    form: str
    work: Workload
    host: Host
    count: int
    quote: Quote
    day: Prediction
    peak: Prediction
    simulated: Prediction | None
    met: bool

    @property
    def month(self) -> float:
        """Dollars for 24 x 30 hours."""
        return self.quote.month(self.count)

    @property
    def million(self) -> float:
        """Dollars for a million requests."""
        return self.month / (self.day.requests_per_second * HOURS * 3600) * 1e6

    @property
    def differ(self) -> float:
        """By how much of all requests the engines differ in what is loaded."""
        return abs(self.simulated.cold - self.peak.cold) if self.simulated else 0.0


@dataclass(frozen=True)
class Dedicated:
    """One endpoint for each model.

    Attributes:
        instances: of all endpoints together.
        most: requests a second that one instance answers within the goal, the least of the archives.
    """

    form: str
    host: Host
    quote: Quote
    instances: int
    most: float

    @property
    def month(self) -> float:
        return self.quote.month(self.instances)

    @property
    def year(self) -> float:
        """Dollars for 8760 hours."""
        return self.quote.dollars * self.instances * HOURS_OF_YEAR


@dataclass(frozen=True)
class Plan:
    """The choices, cheapest first of those that meet the goal.

    Attributes:
        best: the cheapest that meets the goal; None: none does.
        most: requests a second up to which ``best`` meets it.
    """

    traffic: Traffic
    goal: Goal
    choices: tuple[Choice, ...]
    dedicated: tuple[Dedicated, ...]
    best: Choice | None
    most: float


def plan(
    profiles: Shares,
    traffic: Traffic,
    hosts: Sequence[Host],
    counts: Sequence[int],
    goal: Goal,
    price: Callable[[str], Quote],
    requests: int,
    batch: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Predict all choices.

    Args:
        price: of an instance type.
        requests: how many to simulate for each choice; 0: none.
        batch: rows in a request; 0: the least that was profiled.

    Raises:
        EnsembleError: a model does not fit, a price is not known, or no choice keeps up with the traffic.
    """
    quotes = {host.name: price(host.name) for host in hosts}
    choices: list[Choice] = []
    for form, archives in forms(profiles):
        for host in hosts:
            for count in counts:
                work = workload_for(archives, traffic, host, count, batch)
                day, peak = over_the_day(work, host, count, traffic.day)
                met = goal.met(peak) and goal.met(day)
                choices.append(Choice(form, work, host, count, quotes[host.name], day, peak, None, met))
    if all(each.peak.overload for each in choices):
        _refuse(choices, traffic)
    if requests:
        choices = [_checked(each, traffic, goal, requests, progress) for each in choices]
    each_host = {(each.form, each.host.name): each for each in choices}.values()
    dedicated = tuple(_dedicated(each, goal, traffic.day) for each in each_host)
    meeting = sorted((each for each in choices if each.met), key=lambda each: (each.month, each.peak.cold))
    best = meeting[0] if meeting else None
    most = _most(best, goal, traffic.day) if best else 0.0
    return Plan(traffic, goal, tuple(choices), dedicated, best, most)


def forms(profiles: Shares) -> Iterator[tuple[str, Shares]]:
    """The archives of an endpoint, once for each form that an ensemble was profiled in."""
    found = {(profile.ensemble, profile.form): (profile, share) for profile, share in profiles}
    both = {profile.ensemble for profile, _ in profiles if len({f for e, f in found if e == profile.ensemble}) > 1}
    if not both:
        yield "", profiles
        return
    for form in ("drawn", "fused"):
        yield (
            form,
            [(profile, share) for profile, share in profiles if profile.ensemble not in both or profile.form == form],
        )


def sample(traffic: Traffic, requests: int) -> tuple[Recorded, float]:
    """The requests to simulate: recorded ones, or drawn, from the busiest hours where a day has them.

    Returns:
        Them, and how many times the average rate the first of them come at.
    """
    if traffic.recorded is not None:
        times, models = traffic.recorded.times[:requests], traffic.recorded.models[:requests]
        return Recorded(times, models), 1.0
    phases = busiest_hours(traffic.day, traffic.rate, requests) if traffic.day else ()
    return drawn(traffic, requests, phases), phases[0].factor if phases else 1.0


def _checked(choice: Choice, traffic: Traffic, goal: Goal, requests: int, progress: Callable[[str], None]) -> Choice:
    """The choice, simulated; but not one whose queue grows until the end, however few models were cold."""
    if choice.peak.busiest >= 1:
        return choice
    progress(f"simulating {choice.count} x {choice.host.name} {choice.form}".rstrip())
    drawn_requests, factor = sample(traffic, requests)
    work = Workload(choice.work.rates * factor, choice.work.archives, choice.work.demands)
    simulated = simulate(work, choice.host, choice.count, drawn_requests).prediction
    found = replace(choice, simulated=simulated)
    if found.met and found.differ > DIFFER:
        return replace(found, met=goal.met(simulated))  # where the engines differ, both have to say so
    return found


def _dedicated(choice: Choice, goal: Goal, day: Sequence[float]) -> Dedicated:
    """As many instances for each model as its busiest hour needs, and one at least."""
    work, host = choice.work, choice.host
    most = np.array([_most_alone(work, archive, host, goal) for archive in range(len(work.demands) // 2)])
    if float(most[work.archives].min()) <= 0:
        return Dedicated(choice.form, host, choice.quote, 0, 0.0)
    instances = np.maximum(1, np.ceil(work.rates * max(day, default=1.0) / most[work.archives] - 1e-9))
    least = float(most[np.unique(work.archives)].min())
    return Dedicated(choice.form, host, choice.quote, int(instances.sum()), least)


def _most_alone(work: Workload, archive: int, host: Host, goal: Goal) -> float:
    """Requests a second of one model that has an instance of its own; no request is cold there."""
    alone = Workload(np.ones(1), np.array([archive]), work.demands)
    return _search(alone, host, 1, replace(goal, cold=None), ())


def _most(choice: Choice, goal: Goal, day: Sequence[float]) -> float:
    """Requests a second, on average over the day, up to which the choice meets the goal."""
    factor = _search(choice.work, choice.host, choice.count, goal, day)
    return factor * choice.day.requests_per_second


def _search(work: Workload, host: Host, count: int, goal: Goal, day: Sequence[float]) -> float:
    """How many times as much traffic the instances can have within the goal."""
    peak = max(day, default=1.0)

    def meets(factor: float) -> bool:
        return goal.met(closed_form(Workload(work.rates * factor * peak, work.archives, work.demands), host, count))

    low, high = 0.0, 1.0
    while high < _MOST_FACTOR and meets(high):
        low, high = high, high * 4
    if low == 0.0:
        low = 1e-6
        if not meets(low):
            return 0.0
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
        if high <= 1.002 * low:
            break
    return low


def _refuse(choices: Sequence[Choice], traffic: Traffic) -> None:
    largest = max(choices, key=lambda each: each.count * each.host.cores)
    answers = float((largest.work.rates * largest.work.of("answer_core_seconds")).sum()) * max(traffic.day, default=1.0)
    raise EnsembleError(
        f"no choice keeps up with {traffic.text}: with {largest.count} x {largest.host.name}, {largest.peak.overload}",
        cure=f"plan with more or larger instances (its answers alone take {answers:.3g} cores), or with a lower --rate",
    )
