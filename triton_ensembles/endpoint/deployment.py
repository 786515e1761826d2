"""The variants of one endpoint configuration, brought up and taken down together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triton_ensembles.endpoint.api.configs import VariantPlan
from triton_ensembles.endpoint.hosting import ValidationError, Variant

MakeVariant = Callable[[VariantPlan, int], Variant]  # the plan, and the number of the deployment


@dataclass(frozen=True)
class Live:
    """A running variant and what it was planned as."""

    plan: VariantPlan
    variant: Variant


class Deployment:
    """All variants of an endpoint at one time. An update makes another deployment beside this one."""

    def __init__(self, config_name: str, plans: Sequence[VariantPlan], number: int, make: MakeVariant) -> None:
        self.config_name = config_name
        self.live = {plan.name: Live(plan, make(plan, number)) for plan in plans}

    async def start(self) -> None:
        """Bring all variants up; when one fails, stop the others and raise its error."""
        starts = [asyncio.ensure_future(each.variant.start()) for each in self.live.values()]
        try:
            await asyncio.gather(*starts)
        except BaseException:
            for each in starts:
                each.cancel()
            await asyncio.gather(*starts, return_exceptions=True)
            await self.stop()
            raise

    async def stop(self) -> None:
        """Running requests may end; then nothing is left."""
        await asyncio.gather(*(each.variant.stop() for each in self.live.values()))

    def choose(self, target_variant: str | None, endpoint: str) -> Live:
        """The variant that a request is for, or one by the weights. Raises hosting's ValidationError."""
        name = target_variant or self._by_weight()
        if name not in self.live:
            raise ValidationError(f"Variant {name} not found for Request: the endpoint {endpoint} has no such variant")
        return self.live[name]

    def _by_weight(self) -> str:
        """A variant by chance, in proportion to the weights."""
        if len(self.live) == 1:
            return next(iter(self.live))
        weights = [each.plan.weight for each in self.live.values()]
        return random.choices(list(self.live), weights)[0]
