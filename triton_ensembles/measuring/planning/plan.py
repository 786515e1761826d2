"""All choices of a plan: forms of the archives, instance types and counts, with what each does and costs.

Each choice is simulated with some requests. Of those that meet the goal, the cheapest is simulated with all of them; if
it does not meet the goal then, the next one is.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from triton_ensembles.deploy.price import HOURS, Price
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.planning.instances import Host
from triton_ensembles.measuring.planning.overload import answer_load
from triton_ensembles.measuring.planning.prediction import Goal, Prediction
from triton_ensembles.measuring.planning.simulation import simulate
from triton_ensembles.measuring.planning.traffic import Sample, Traffic, sample
from triton_ensembles.measuring.planning.workload import Shares, Workload, workload

_SEARCH = 20_000  # requests for each choice, and for each step of a search
_SEARCH_SECONDS = 60.0  # of traffic, at least
_NEAR = 1.03  # of the highest rate


@dataclass(frozen=True, eq=False)
class Choice:
    """A number of instances of a type, serving archives of a form.

    Attributes:
        form: "drawn", "fused", or "" where the archives are of one form, whichever.
        work: the models, with the rates of the simulated time.
        prediction: of the busiest time where the traffic has one.
        met: whether the goal is met.
        million: dollars for a million requests of the average rate.
    """

    form: str
    work: Workload
    host: Host
    count: int
    price: Price
    prediction: Prediction
    met: bool
    million: float

    @property
    def month(self) -> float:
        """Dollars for 24 x 30 hours."""
        return self.price.month(self.count)


@dataclass(frozen=True)
class Plan:
    """The choices by form, instance type and count.

    Attributes:
        best: the cheapest that meets the goal; None: none does.
        most: requests a second, on average, up to which ``best`` meets it.
    """

    traffic: Traffic
    goal: Goal
    choices: tuple[Choice, ...]
    best: Choice | None
    most: float

    @property
    def dedicated(self) -> dict[str, Price]:
        """The price of an endpoint of its own for each model, with one instance, by the instance's type."""
        return {choice.host.name: choice.price for choice in self.choices if not choice.host.by_hash}


@dataclass(frozen=True)
class Fleet:
    """Instances of one type, with the numbers of them that are compared, and the price of each."""

    host: Host
    counts: Sequence[int]
    price: Price


def priced(
    fleets: Sequence[tuple[Host, Sequence[int]]], price: Callable[[str], Price], progress: Progress
) -> list[Fleet]:
    """Return types of instances, each with numbers of them, at their prices. A type without one is left out, with a
    line; raises EnsembleError where all are."""
    known: list[Fleet] = []
    for host, counts in fleets:
        try:
            known.append(Fleet(host, counts, price(host.name)))
        except EnsembleError as error:
            if host is fleets[-1][0] and not known:
                raise
            progress(f"{host.name} is left out: {error}")
    return known


def plan(
    profiles: Shares,
    traffic: Traffic,
    fleets: Sequence[Fleet],
    goal: Goal,
    requests: int,
    batch: int,
    progress: Progress,
) -> Plan:
    """Simulate all choices.

    Args:
        requests: how many to simulate for the answer.
        batch: rows in a request; 0: the least that was profiled.

    Raises:
        EnsembleError: a model does not fit, or no choice keeps up with the traffic.
    """
    few = sample(traffic, min(requests, max(_SEARCH, int(_SEARCH_SECONDS * traffic.rate))))
    choices: list[Choice] = []
    for (form, archives), fleet in product(forms(profiles), fleets):
        host, price = fleet.host, fleet.price
        work = workload(archives, traffic, host, batch).times(few.factor)
        for count in fleet.counts:
            progress(f"simulating {count} x {host.name} {form}".rstrip())
            prediction = simulate(work, host, count, few.requests).prediction
            million = price.month(count) / (traffic.rate * HOURS * 3600) * 1e6
            choices.append(Choice(form, work, host, count, price, prediction, goal.met(prediction), million))
    if all(choice.prediction.overload for choice in choices):
        _refuse(choices, traffic)
    best = _confirmed(choices, sample(traffic, requests), few.factor, goal, progress)
    return Plan(traffic, goal, tuple(choices), best, _most(best, few, goal) * traffic.rate if best else 0.0)


def forms(profiles: Shares) -> Iterator[tuple[str, Shares]]:
    """The archives of an endpoint, once for each form that an ensemble was profiled in."""
    profiled = {(profile.ensemble, profile.form) for profile, _ in profiles}
    both = {ensemble for ensemble, form in profiled if form == "drawn" and (ensemble, "fused") in profiled}
    if not both:
        yield "", profiles
        return
    for form in ("drawn", "fused"):
        yield form, [pair for pair in profiles if pair[0].ensemble not in both or pair[0].form == form]


def _confirmed(choices: list[Choice], every: Sample, factor: float, goal: Goal, progress: Progress) -> Choice | None:
    """The cheapest choice that meets the goal with all requests, which replaces the same in ``choices``, as do those
    that do not."""
    numbers = [number for number, choice in enumerate(choices) if choice.met]
    for number in sorted(numbers, key=lambda number: (choices[number].month, choices[number].prediction.cold)):
        choice = choices[number]
        progress(f"simulating {choice.count} x {choice.host.name} {choice.form}".rstrip())
        work = choice.work.times(every.factor / factor)
        prediction = simulate(work, choice.host, choice.count, every.requests).prediction
        choice = choices[number] = replace(choice, prediction=prediction, met=goal.met(prediction))
        if choice.met:
            return choice
    return None


def _most(choice: Choice, requests: Sample, goal: Goal) -> float:
    """The highest factor of the traffic with which the choice meets the goal; 0.0: not with these requests."""

    def meets(factor: float) -> bool:
        faster = requests.times(factor)
        work = choice.work.times(factor)
        return goal.met(simulate(work, choice.host, choice.count, faster.requests).prediction)

    low, high = 1.0, 1 / max(answer_load(choice.work, choice.host, choice.count))
    if not meets(low):
        return 0.0
    while high > _NEAR * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low


def _refuse(choices: Sequence[Choice], traffic: Traffic) -> None:
    largest = max(choices, key=lambda choice: choice.count * choice.host.cores)
    cores = float((largest.work.rates * largest.work.of("answer_core_seconds")).sum())
    raise EnsembleError(
        f"no choice keeps up with {traffic.text}: with {largest.count} x {largest.host.name}, "
        f"{largest.prediction.overload}",
        cure=f"plan with more or larger instances (its answers alone take {cores:.3g} cores), or with a lower --rate",
    )
