"""The variants of one endpoint configuration, started and stopped together."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from triton_ensembles.endpoint.hosting.errors import ValidationError
from triton_ensembles.endpoint.hosting.spec import ContainerSpec
from triton_ensembles.endpoint.hosting.variant import Variant


@dataclass(frozen=True)
class VariantPlan:
    """A production variant of an endpoint configuration, with its model looked up.

    Args:
        disk_bytes: VolumeSizeInGB in bytes; None where it is not given.
        load_seconds: ModelDataDownloadTimeoutInSeconds; None where it is not given.
        startup_seconds: ContainerStartupHealthCheckTimeoutInSeconds; None where it is not given.
    """

    name: str
    spec: ContainerSpec
    instance_count: int
    instance_type: str
    weight: float
    disk_bytes: int | None
    load_seconds: float | None
    startup_seconds: float | None


MakeVariant = Callable[[VariantPlan, int], Variant]  # from the plan and the number of the deployment


@dataclass(frozen=True)
class RunningVariant:
    """A running variant and the plan that it was made from."""

    plan: VariantPlan
    variant: Variant


class Deployment:
    """All variants of an endpoint at one time. An update makes another deployment beside the present one."""

    def __init__(self, config_name: str, plans: Sequence[VariantPlan], number: int, make: MakeVariant) -> None:
        self.config_name = config_name
        self.variants = {plan.name: RunningVariant(plan, make(plan, number)) for plan in plans}

    async def start(self) -> None:
        """Start all variants. When one fails, stop the others and raise its error."""
        starts = [asyncio.ensure_future(each.variant.start()) for each in self.variants.values()]
        try:
            await asyncio.gather(*starts)
        except BaseException:
            for each in starts:
                each.cancel()
            await asyncio.gather(*starts, return_exceptions=True)
            await self.stop()
            raise

    async def stop(self) -> None:
        """Let running requests end, then stop all variants."""
        await asyncio.gather(*(each.variant.stop() for each in self.variants.values()))

    def choose(self, target_variant: str | None, endpoint: str) -> RunningVariant:
        """The variant with this name, or one chosen by weight. Raises hosting's ValidationError."""
        name = target_variant or self._by_weight()
        if name not in self.variants:
            raise ValidationError(f"Variant {name} not found for Request: the endpoint {endpoint} has no such variant")
        return self.variants[name]

    def _by_weight(self) -> str:
        """A random variant, in proportion to the weights."""
        if len(self.variants) == 1:
            return next(iter(self.variants))
        weights = [each.plan.weight for each in self.variants.values()]
        return random.choices(list(self.variants), weights)[0]
