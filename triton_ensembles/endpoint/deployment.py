"""The variants of one endpoint configuration, started and stopped together."""

import asyncio
import random
from collections.abc import Callable, Sequence

from triton_ensembles.endpoint.hosting.errors import ValidationError
from triton_ensembles.endpoint.hosting.spec import VariantPlan
from triton_ensembles.endpoint.hosting.stopping import stop_all
from triton_ensembles.endpoint.hosting.variant import Variant

MakeVariant = Callable[[VariantPlan, int], Variant]  # from the plan and the number of the deployment


class Deployment:
    """All variants of an endpoint at one time. An update makes another deployment beside the present one."""

    def __init__(self, config_name: str, plans: Sequence[VariantPlan], number: int, make: MakeVariant) -> None:
        self.config_name = config_name
        self.variants = {plan.name: make(plan, number) for plan in plans}

    async def start(self) -> None:
        """Start all variants. When one fails, stop the others and raise its error."""
        try:
            async with asyncio.TaskGroup() as starting:
                for variant in self.variants.values():
                    starting.create_task(variant.start())
        except BaseException as error:
            await self.stop()
            if isinstance(error, BaseExceptionGroup):
                raise error.exceptions[0] from None
            raise

    async def stop(self) -> None:
        """Let running requests end, then stop all variants."""
        await stop_all(self.variants.values())

    def choose(self, target_variant: str | None, endpoint: str) -> Variant:
        """The variant with this name, or one chosen by weight. Raises hosting's ValidationError."""
        name = target_variant or self._by_weight()
        if name not in self.variants:
            raise ValidationError(f"Variant {name} not found for Request: the endpoint {endpoint} has no such variant")
        return self.variants[name]

    def _by_weight(self) -> str:
        """A random variant, in proportion to the weights."""
        if len(self.variants) == 1:
            return next(iter(self.variants))
        weights = [variant.plan.weight for variant in self.variants.values()]
        return random.choices(list(self.variants), weights)[0]
