"""A plan as tables for people, and as JSON."""

from collections.abc import Iterator, Sequence

from triton_ensembles.deploy.price import HOURS, HOURS_OF_YEAR
from triton_ensembles.measuring.perf.sweep_report import aligned
from triton_ensembles.measuring.planning.plan import Choice, Plan
from triton_ensembles.measuring.planning.prediction import Range
from triton_ensembles.measuring.planning.transients import Deploy
from triton_ensembles.measuring.profiling.profile import Profile

_HEAD = (
    ("", "loaded", "cold", "loads", "warm, ms", "all, ms", "cores", "memory", "$ a", "$ a"),
    ("instances", "models", "share", "a second", "p50 p95 p99", "p50 p95 p99", "in use", "GiB", "month", "million"),
)


def tables(plan: Plan, profiles: Sequence[Profile], deploy: Deploy | None) -> str:
    """The choices, a line each, and notes on them."""
    lines = [plan.traffic.text, ""]
    rows = [_row(choice, len(plan.traffic.rates)) for choice in plan.choices]
    lines.append(aligned([*_HEAD, *rows], first_is_text=True))
    lines += ["", *_notes(plan, profiles), "", *_conclusion(plan)]
    if deploy is not None:
        lines.append(f"after a deploy: {deploy}")
    lines += ["", *_against(plan)]
    return "\n".join(line.rstrip() for line in lines)


def _row(choice: Choice, models: int) -> tuple[str, ...]:
    prediction, ranges = choice.prediction, choice.prediction.ranges
    room = choice.count * choice.host.memory_bytes / 2**30
    return (
        f"{'*' if choice.met else ' '} {_name(choice)}",
        f"{prediction.resident:.0f} of {models}",
        f"{_range(*(100 * share for share in ranges.cold))} %",
        f"{prediction.loads_per_second:.2g}",
        _latency(ranges.warm),
        _latency(ranges.every),
        f"{prediction.cores:.1f} of {choice.count * choice.host.cores}",
        f"{prediction.memory_bytes / 2**30:.1f} of {room:.0f}",
        f"{'~' if choice.price.estimated else ''}{_sum(choice.month).removeprefix('$')}",
        _dollars(choice.million),
    )


def _latency(ranges: tuple[Range, ...]) -> str:
    return " ".join(_range(1000 * low, 1000 * high) for low, high in ranges) if ranges else "-"


def _range(low: float, high: float) -> str:
    """``12-15``, or one figure where both are the same to two digits."""
    least, most = (f"{float(f'{value:.2g}'):g}" for value in (low, high))
    return least if least == most else f"{least}-{most}"


def _notes(plan: Plan, profiles: Sequence[Profile]) -> Iterator[str]:
    yield f"* meets the goal: {plan.goal}. What does not keep up has no latency."
    overloads = ((choice.prediction.overload, _name(choice)) for choice in plan.choices)
    for text, names in _grouped((text, name) for text, name in overloads if text):
        yield f"{', '.join(names)}: {text}"
    sizes = sorted({choice.prediction.requests for choice in plan.choices})
    few, most = (f"{size:,}".replace(",", " ") for size in (sizes[0], sizes[-1]))
    cheapest = f", the cheapest {most}" if most != few else ""
    yield f"ranges: what four of five measurements of {plan.choices[0].prediction.ranges.requests} requests show"
    ahead = ", idle models evicted ahead of need" if plan.choices[0].host.evict_ahead else ""
    yield f"simulated: {few} requests each{cheapest}{ahead}"
    for text, names in _grouped(
        (f"{choice.price.dollars:.4g} $/h, {choice.price.source}", choice.host.name) for choice in plan.choices
    ):
        yield f"{', '.join(dict.fromkeys(names))}: {text}; a month is {HOURS} hours"
    processors = {profile.machine.processor: profile.machine.cores for profile in profiles}
    hosts = {choice.host.name: choice.host for choice in plan.choices}.values()
    where = ", ".join(f"{cores} cores of {processor}" for processor, cores in processors.items())
    yield f"estimates: profiled on {where}; scaled by cores and memory"
    if volumes := [f"{host.disk_rate / 1e6:.0f} MB/s on {host.name}" for host in hosts if host.disk_rate]:
        yield f"a load is assumed to read its files from the volume, at EBS's baseline: {', '.join(volumes)}"
    if with_gpu := [f"{host.name} ({host.gpu})" for host in hosts if host.gpu]:
        yield f"the GPUs of {', '.join(with_gpu)} are not counted on: no profile has measured them"
    unpacked = plan.choices[0].work.of("disk_bytes").sum() / 1e9
    if machines := [host.name for host in hosts if host.by_hash]:
        yield (
            f"{', '.join(machines)}: machines of EC2 that run `host`, each with the models that the hash of their "
            "names gives it; the balancer and the volumes are not in the price"
        )
    if unknown := [host.name for host in hosts if host.disk_bytes is None]:
        yield (
            f"all archives are assumed to fit on the disks of {', '.join(unknown)} ({unpacked:.1f} GB unpacked): AWS "
            "does not publish the size of SageMaker's"
        )


def _conclusion(plan: Plan) -> Iterator[str]:
    best = plan.best
    if best is None:
        yield f"no choice meets the goal ({plan.goal}): plan with more instances, or larger ones"
        return
    yield (
        f"the cheapest for {plan.goal}: {_name(best)}, {_sum(best.month)} a month "
        f"({_sum(best.price.year(best.count))} a year of {HOURS_OF_YEAR} hours), up to "
        f"about {float(f'{plan.most:.2g}'):g} requests/s"
    )


def _against(plan: Plan) -> Iterator[str]:
    models = len(plan.traffic.rates)
    for name, price in plan.dedicated.items():
        yield (
            f"one endpoint for each of {models} models: at least {models} x {name}, {_sum(price.month(models))} a "
            f"month ({_sum(price.year(models))} a year), nothing cold{_saving(plan.best, price.month(models))}"
        )


def _saving(best: Choice | None, month: float) -> str:
    share = best.month / month if best else 1.0
    return f"; the cheapest above costs {_range(100 * share, 100 * share)} % of it" if share < 1 else ""


def _grouped(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for text, name in pairs:
        groups.setdefault(text, []).append(name)
    yield from groups.items()


def _name(choice: Choice) -> str:
    return f"{choice.count} x {choice.host.name} {choice.form}".rstrip()


def _dollars(value: float) -> str:
    return _sum(value).removeprefix("$") if value >= 0.01 else f"{value:.2g}"


def _sum(value: float) -> str:
    return f"${value:,.2f}".replace(",", " ")
