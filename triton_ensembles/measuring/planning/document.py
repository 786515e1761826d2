"""``plan --format json``: the plan as a value for JSON."""

from dataclasses import asdict
from typing import Any

from triton_ensembles.measuring.planning.plan import Choice, Plan
from triton_ensembles.measuring.planning.transients import Deploy


def document(plan: Plan, deploy: Deploy | None) -> dict[str, Any]:
    """Shares are of 1, times in seconds, sizes in bytes. Where instances do not keep up, latencies are null."""
    best, models = plan.best, len(plan.traffic.rates)
    return {
        "traffic": plan.traffic.text,
        "models": models,
        "requests_per_second": plan.traffic.rate,
        "goal": asdict(plan.goal),
        "choices": [_choice(choice) for choice in plan.choices],
        "cheapest": plan.choices.index(best) if best else None,
        "cheapest_up_to_requests_per_second": plan.most if best else None,
        "dedicated": [
            {
                "instance": name,
                "instances": models,
                "dollars_a_month": price.month(models),
                "dollars_a_year": price.year(models),
            }
            for name, price in plan.dedicated.items()
        ],
        "deploy": asdict(deploy) if deploy else None,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "form": choice.form,
        "instance": choice.host.name,
        "by_hash": choice.host.by_hash,
        "count": choice.count,
        "estimate": True,
        "goal_met": choice.met,
        "simulation": asdict(choice.prediction),
        "cores": choice.count * choice.host.cores,
        "memory_bytes": choice.count * choice.host.memory_bytes,
        "dollars_an_hour": choice.price.dollars,
        "price": choice.price.source,
        "price_estimated": choice.price.estimated,
        "dollars_a_month": choice.month,
        "dollars_a_million_requests": choice.million,
    }
