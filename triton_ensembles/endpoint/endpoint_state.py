"""An endpoint: its states from creation to deletion, and the background work between them.

    Creating -> InService -> Updating -> InService
           \\-> Failed              \\-> RollingBack -> InService, with the reason of the failed update

An update is blue/green: the new variants start beside the old ones and take over, then the old ones stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from triton_ensembles.endpoint.settings import ACCOUNT
from triton_ensembles.endpoint.variants.spec import VariantPlan
from triton_ensembles.endpoint.variants.variant import Variant
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.hosting.errors import ServiceUnavailable, ValidationError, reason_of, with_paths_of_aws
from triton_ensembles.hosting.together import start_all, stop_all

_REASON_LENGTH = 1024  # of FailureReason in the service model
MakeVariant = Callable[[VariantPlan], Variant]


class Status(StrEnum):
    """The values of EndpointStatus that occur here."""

    CREATING = "Creating"
    IN_SERVICE = "InService"
    UPDATING = "Updating"
    ROLLING_BACK = "RollingBack"
    FAILED = "Failed"
    DELETING = "Deleting"


_SERVING = {Status.IN_SERVICE, Status.UPDATING, Status.ROLLING_BACK}
_SETTLED = {Status.IN_SERVICE, Status.FAILED}


@dataclass(frozen=True)
class Share:
    """The changes of UpdateEndpointWeightsAndCapacities to a variant; None where a value stays."""

    weight: float | None = None
    instance_count: int | None = None


class Endpoint:
    """An endpoint from CreateEndpoint to the end of DeleteEndpoint. ``changed`` is called after every change."""

    def __init__(self, name: str, arn: str, make: MakeVariant, changed: Callable[[Endpoint], None]) -> None:
        self.name = name
        self.arn = arn
        self.status = Status.CREATING
        self.failure = ""
        self.created = self.modified = time.time()
        self.config_name = ""
        self.variants: Mapping[str, Variant] = {}  # what answers requests, by name; an update makes others beside them
        self.desired: Mapping[str, Share] = {}  # what a variant is being changed to, by its name
        self.shutting_down = False  # it is deleted because the server is shutting down
        self._make = make
        self._changed = changed
        self._work: asyncio.Task[None] | None = None
        self._retiring: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()

    @property
    def running(self) -> list[Variant]:
        """The variants that answer requests."""
        return list(self.variants.values())

    @property
    def in_progress(self) -> bool:
        """Return whether it is being created, updated or deleted."""
        return self.status not in _SETTLED

    def create(self, config_name: str, plans: tuple[VariantPlan, ...]) -> None:
        """Begin to start, in the background."""
        self.config_name = config_name
        self._work = asyncio.create_task(self._change_to(config_name, plans))

    def update(self, config_name: str, plans: tuple[VariantPlan, ...]) -> None:
        """Begin to change to another configuration, in the background; for an endpoint that is not ``in_progress``."""
        self._enter(Status.UPDATING)
        self._work = asyncio.create_task(self._change_to(config_name, plans))

    def rescale(self, shares: Mapping[str, Share]) -> None:
        """Begin to change weights and instance counts of variants, as ``update``."""
        self.desired = shares
        self._enter(Status.UPDATING)
        self._work = asyncio.create_task(self._change_shares(shares))

    async def delete(self) -> None:
        """Cancel what is in progress, let running requests end, and stop everything."""
        self._enter(Status.DELETING)
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._retiring is not None:
            await asyncio.gather(self._retiring, return_exceptions=True)
        await stop_all(self.running)
        self.variants = {}

    async def wait_until_settled(self, seconds: float) -> None:
        """Wait until it is in service, has failed or is being deleted, for at most ``seconds``."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), seconds)

    def choose(self, target_variant: str | None) -> Variant:
        """The variant that a request goes to. Raises ValidationError or ServiceUnavailable where there is none."""
        if self.shutting_down:
            raise shutting_down()
        if not self.variants or self.status not in _SERVING:
            raise ValidationError(f"Endpoint {self.name} of account {ACCOUNT} not found. It is {self.status}")
        weights = [variant.plan.weight for variant in self.running]
        name = target_variant or random.choices(list(self.variants), weights)[0]
        if name not in self.variants:
            message = f"Variant {name} not found for Request: the endpoint {self.name} has no such variant"
            raise ValidationError(message)
        return self.variants[name]

    async def _change_shares(self, shares: Mapping[str, Share]) -> None:
        reason = ""
        try:
            for variant in self.running:
                share = shares.get(variant.plan.name, Share())
                if share.weight is not None:
                    variant.weigh(share.weight)
                if share.instance_count is not None:
                    await variant.resize(share.instance_count)
        except Exception as error:
            reason = _reason(error)
        finally:
            self.desired = {}
            self._enter(Status.IN_SERVICE, reason)

    async def _change_to(self, config_name: str, plans: tuple[VariantPlan, ...]) -> None:
        try:
            variants = await self._started(plans)
        except Exception as error:
            if self.status is Status.UPDATING:
                self._enter(Status.ROLLING_BACK, _reason(error))
            self._enter(Status.IN_SERVICE if self.variants else Status.FAILED, _reason(error))
            return
        old, self.variants = self.running, variants
        self.config_name = config_name
        try:
            if old:  # in a separate task, so that a deletion does not interrupt it
                self._retiring = asyncio.create_task(stop_all(old))
                await asyncio.shield(self._retiring)
        finally:
            self._enter(Status.IN_SERVICE)

    async def _started(self, plans: Iterable[VariantPlan]) -> dict[str, Variant]:
        """The variants of these plans. When one does not start, all are stopped, and its error is raised."""
        variants = {plan.name: self._make(plan) for plan in plans}
        try:
            await start_all(variants.values())
        except BaseException:
            await stop_all(variants.values())
            raise
        return variants

    def _enter(self, status: Status, failure: str = "") -> None:
        if self.status is Status.DELETING:
            return  # the last state
        self.status, self.failure, self.modified = status, failure, time.time()
        if status in _SETTLED or status is Status.DELETING:
            self._settled.set()
        else:
            self._settled.clear()
        self._changed(self)


def shutting_down() -> ServiceUnavailable:
    return ServiceUnavailable("the endpoint server is shutting down", cure="try again when it is up")


def _reason(error: Exception) -> str:
    """FailureReason: the message of our own errors; for any other error, its type as well."""
    text = str(error) if isinstance(error, EnsembleError) else reason_of(error) or f"{type(error).__name__}: {error}"
    text = with_paths_of_aws(text, multi_model=False)  # only single models are loaded at the start
    return text if len(text) <= _REASON_LENGTH else text[: _REASON_LENGTH - 1] + "…"
