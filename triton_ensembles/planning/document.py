"""A plan as JSON."""

from dataclasses import asdict
from typing import Any

from triton_ensembles.planning.happenings import Burst, Deploy
from triton_ensembles.planning.plan import Choice, Plan


def document(plan: Plan, deploy: Deploy | None, burst: Burst | None) -> dict[str, Any]:
    """Shares are of 1, times in seconds, sizes in bytes. What does not exist, such as a latency where the queue has no
    end, or the loads that are possible where loads take no time, is null."""
    best = plan.best
    return {
        "traffic": plan.traffic.text,
        "models": len(plan.traffic.rates),
        "requests_per_second": plan.traffic.rate,
        "goal": asdict(plan.goal),
        "choices": [_choice(each) for each in plan.choices],
        "cheapest": plan.choices.index(best) if best else None,
        "cheapest_up_to_requests_per_second": plan.most if best else None,
        "dedicated": [
            {
                "form": each.form,
                "instance": each.host.name,
                "instances": each.instances or None,
                "requests_per_second_of_one": each.most,
                "dollars_a_month": each.month if each.instances else None,
                "dollars_a_year": each.year if each.instances else None,
            }
            for each in plan.dedicated
        ],
        "deploy": asdict(deploy) if deploy else None,
        "burst": asdict(burst) if burst else None,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "form": choice.form,
        "instance": choice.host.name,
        "count": choice.count,
        "estimate": True,
        "goal_met": choice.met,
        "closed_form": _finite(asdict(choice.day)),
        "busiest_hour": _finite(asdict(choice.peak)),
        "simulation": _finite(asdict(choice.simulated)) if choice.simulated else None,
        "cores": choice.count * choice.host.cores,
        "memory_bytes": choice.count * choice.host.memory_bytes,
        "dollars_an_hour": choice.quote.dollars,
        "price": choice.quote.source,
        "price_estimated": choice.quote.estimated,
        "dollars_a_month": choice.month,
        "dollars_a_million_requests": choice.million,
    }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value in (float("inf"), float("-inf")) else value for key, value in values.items()}
