"""A plan as tables for people."""

from collections.abc import Iterator, Sequence

from triton_ensembles.planning.happenings import Burst, Deploy
from triton_ensembles.planning.plan import DIFFER, Choice, Dedicated, Plan
from triton_ensembles.planning.prediction import Latency, Prediction
from triton_ensembles.planning.prices import HOURS, HOURS_OF_YEAR
from triton_ensembles.profiling.profile import Profile

_NONE = "-"
_HEAD = (
    ("", "loaded", "cold", "loads/s", "warm, ms", "all, ms", "cores", "memory", "$ a", "$ a"),
    ("instances", "models", "share", "of most", "p50 p95 p99", "p50 p95 p99", "in use", "GiB", "month", "million"),
)


def tables(plan: Plan, profiles: Sequence[Profile], deploy: Deploy | None, burst: Burst | None) -> str:
    """The choices, a line each, and what is to be said of them."""
    lines = [plan.traffic.text, ""]
    rows = [_row(each, len(plan.traffic.rates)) for each in plan.choices]
    lines += _aligned([*_HEAD, *rows])
    lines += ["", *_notes(plan, profiles), "", *_conclusion(plan)]
    if deploy is not None:
        lines.append(f"after a deploy: {deploy}")
    if burst is not None:
        lines.append(f"in a burst: {burst}")
    lines += ["", *_against(plan)]
    return "\n".join(line.rstrip() for line in lines)


def _row(choice: Choice, models: int) -> tuple[str, ...]:
    found = choice.day
    mark = "* " if choice.met else "  "
    name = f"{mark}{choice.count} x {choice.host.name} {choice.form}".rstrip()
    cores = choice.count * choice.host.cores
    room = choice.count * choice.host.memory_bytes / 2**30
    return (
        name,
        f"{found.resident:.0f} of {models}",
        _percent(found.cold),
        f"{_short(found.loads_per_second)} of {_short(found.loads_possible)}",
        _latency(found.warm),
        _latency(found.every),
        f"{found.cores:.1f} of {cores}",
        f"{found.memory_bytes / 2**30:.1f} of {room:.0f}",
        f"{'~' if choice.quote.estimated else ''}{choice.month:,.2f}".replace(",", " "),
        _dollars(choice.million),
    )


def _latency(found: Latency | None) -> str:
    return _NONE if found is None else " ".join(_short(value * 1000) for value in (found.p50, found.p95, found.p99))


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join((first, *others))


def _notes(plan: Plan, profiles: Sequence[Profile]) -> Iterator[str]:
    yield f"* meets the goal: {plan.goal}. What does not keep up has no latency."
    for text, names in _grouped((each.peak.overload, _name(each)) for each in plan.choices if each.peak.overload):
        yield f"{', '.join(names)}: {text}"
    apart = [each for each in plan.choices if each.differ > DIFFER]
    for each in apart:
        simulated: Prediction | None = each.simulated
        assert simulated is not None
        yield (
            f"{_name(each)}: the engines differ: {_percent(each.peak.cold)} cold in closed form, "
            f"{_percent(simulated.cold)} simulated"
        )
    checked = [each for each in plan.choices if each.simulated]
    if checked and not apart:
        yield f"the simulation agrees: cold shares differ by at most {_points(max(each.differ for each in checked))}"
    for text, names in _grouped(
        (f"{each.quote.dollars:.4g} $/h, {each.quote.source}", each.host.name) for each in plan.choices
    ):
        yield f"{', '.join(dict.fromkeys(names))}: {text}; a month is {HOURS} hours"
    machines = {profile.machine.processor: profile.machine.cores for profile in profiles}
    hosts = {each.host.name: each.host for each in plan.choices}.values()
    where = ", ".join(f"{cores} cores of {processor}" for processor, cores in machines.items())
    yield f"estimates: profiled on {where}; scaled by cores and memory"
    if volumes := [f"{host.disk_rate / 1e6:.0f} MB/s on {host.name}" for host in hosts if host.disk_rate]:
        yield f"a load is taken to read its files from the volume, at EBS's baseline: {', '.join(volumes)}"
    if unmeasured := [f"{host.name} ({host.gpu})" for host in hosts if host.gpu]:
        yield f"the GPUs of {', '.join(unmeasured)} are not counted on: no profile has measured them"
    sizes = plan.choices[0].work.of("disk_bytes").sum() / 1e9
    if unknown := [host.name for host in hosts if host.disk_bytes is None]:
        yield (
            f"all archives are taken to fit on the disks of {', '.join(unknown)} ({sizes:.1f} GB unpacked): AWS does "
            "not publish their size; --disk sets it"
        )


def _conclusion(plan: Plan) -> Iterator[str]:
    best = plan.best
    if best is None:
        yield f"no choice meets the goal ({plan.goal}): plan with more instances, or larger ones"
        return
    yield (
        f"the cheapest for {plan.goal}: {_name(best)}, {_sum(best.month)} a month "
        f"({_sum(best.quote.dollars * best.count * HOURS_OF_YEAR)} a year of {HOURS_OF_YEAR} hours), up to "
        f"{_short(plan.most)} requests/s"
    )


def _against(plan: Plan) -> Iterator[str]:
    models = len(plan.traffic.rates)
    for each in plan.dedicated:
        name = f"{each.host.name} {each.form}".rstrip()
        if not each.instances:
            yield f"one endpoint for each of {models} models on {name}: none meets the goal at any load"
            continue
        yield (
            f"one endpoint for each of {models} models: {each.instances} x {name}, {_sum(each.month)} a month "
            f"({_sum(each.year)} a year), nothing cold{_saving(plan.best, each)}"
        )


def _saving(best: Choice | None, dedicated: Dedicated) -> str:
    if best is None or dedicated.month <= 0:
        return ""
    share = best.month / dedicated.month
    return f"; the cheapest above costs {_percent(share)} of it" if share < 1 else ""


def _grouped(pairs: Iterator[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for text, name in pairs:
        groups.setdefault(text, []).append(name)
    yield from groups.items()


def _name(choice: Choice) -> str:
    return f"{choice.count} x {choice.host.name} {choice.form}".rstrip()


def _percent(share: float) -> str:
    value = share * 100
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"


def _points(share: float) -> str:
    return f"{share * 100:.1f} points"


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}" if value else "0"


def _dollars(value: float) -> str:
    return f"{value:,.2f}".replace(",", " ") if value >= 0.01 else f"{value:.2g}"


def _sum(value: float) -> str:
    return f"${value:,.2f}".replace(",", " ")
