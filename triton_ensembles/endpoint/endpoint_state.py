"""One endpoint: its states, from Creating to gone, and who does the work meanwhile.

    Creating -> InService -> Updating -> InService
           \\-> Failed              \\-> RollingBack -> InService, with the reason of the failed update

An update is blue/green: the new variants come up beside the old ones, then take over, then the old ones end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from enum import StrEnum

from triton_ensembles.endpoint.api.configs import VariantPlan
from triton_ensembles.endpoint.api.errors import ValidationException
from triton_ensembles.endpoint.deployment import Deployment, Live, MakeVariant
from triton_ensembles.endpoint.hosting import ValidationError
from triton_ensembles.endpoint.settings import ACCOUNT
from triton_ensembles.errors import EnsembleError

_REASON_LENGTH = 1024  # of FailureReason in the service model


class Status(StrEnum):
    """EndpointStatus, as far as this platform knows it."""

    CREATING = "Creating"
    IN_SERVICE = "InService"
    UPDATING = "Updating"
    ROLLING_BACK = "RollingBack"
    FAILED = "Failed"
    DELETING = "Deleting"


_SERVING = {Status.IN_SERVICE, Status.UPDATING, Status.ROLLING_BACK}
_SETTLED = {Status.IN_SERVICE, Status.FAILED}


class Endpoint:
    """An endpoint between CreateEndpoint and the end of DeleteEndpoint.

    Args:
        make: makes a hosting variant of this endpoint.
        changed: called at every change of state.
    """

    def __init__(self, name: str, arn: str, make: MakeVariant, changed: Callable[[Endpoint], None]) -> None:
        self.name = name
        self.arn = arn
        self.status = Status.CREATING
        self.failure = ""
        self.created = self.modified = time.time()
        self.config_name = ""
        self._make = make
        self._changed = changed
        self._deployments = 0
        self._current: Deployment | None = None
        self._work: asyncio.Task[None] | None = None
        self._retiring: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()

    @property
    def deployment(self) -> Deployment | None:
        """What serves now, or None."""
        return self._current

    def create(self, config_name: str, plans: tuple[VariantPlan, ...]) -> None:
        """Begin to come up, in the background."""
        self.config_name = config_name
        self._begin(self._create(self._deploy(config_name, plans)))

    def update(self, config_name: str, plans: tuple[VariantPlan, ...]) -> None:
        """Begin to change to another configuration, in the background. The old one serves until then."""
        if self.status not in _SETTLED:
            raise ValidationException(f'Cannot update in-progress endpoint "{self.arn}".')
        self._enter(Status.UPDATING)
        self._begin(self._update(self._deploy(config_name, plans)))

    async def delete(self) -> None:
        """Stop whatever is under way, let running requests end, take everything down."""
        self._enter(Status.DELETING)
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._retiring is not None:
            await asyncio.gather(self._retiring, return_exceptions=True)
        if self._current is not None:
            await self._current.stop()
            self._current = None

    async def settled(self, seconds: float) -> None:
        """Wait until it is in service or has failed, for so long at most."""
        try:
            await asyncio.wait_for(self._settled.wait(), seconds)
        except TimeoutError:
            return

    def choose(self, target_variant: str | None) -> Live:
        """The variant that a request goes to. Raises hosting's ValidationError when nothing serves."""
        deployment = self._current
        if deployment is None or self.status not in _SERVING:
            raise ValidationError(f"Endpoint {self.name} of account {ACCOUNT} not found. It is {self.status}")
        return deployment.choose(target_variant, self.name)

    def _deploy(self, config_name: str, plans: tuple[VariantPlan, ...]) -> Deployment:
        self._deployments += 1
        return Deployment(config_name, plans, self._deployments, self._make)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        self._work = asyncio.get_running_loop().create_task(work)

    async def _create(self, deployment: Deployment) -> None:
        try:
            await deployment.start()
        except Exception as error:
            self._enter(Status.FAILED, _reason(error))
            return
        self._current = deployment
        self._enter(Status.IN_SERVICE)

    async def _update(self, deployment: Deployment) -> None:
        try:
            await deployment.start()
        except Exception as error:
            self._enter(Status.ROLLING_BACK, _reason(error))
            self._enter(Status.IN_SERVICE if self._current else Status.FAILED, _reason(error))
            return
        old, self._current = self._current, deployment
        self.config_name = deployment.config_name
        try:
            if old is not None:  # a task of its own: a deletion that comes now must not leave it half done
                self._retiring = asyncio.get_running_loop().create_task(old.stop())
                await asyncio.shield(self._retiring)
        finally:
            self._enter(Status.IN_SERVICE)

    def _enter(self, status: Status, failure: str = "") -> None:
        if self.status is Status.DELETING:
            return  # nothing leads out of it
        self.status, self.failure, self.modified = status, failure, time.time()
        if status in _SETTLED or status is Status.DELETING:
            self._settled.set()
        else:
            self._settled.clear()
        self._changed(self)


def _reason(error: Exception) -> str:
    """FailureReason: an error that is meant for people as it is, any other with its type."""
    text = str(error) if isinstance(error, EnsembleError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= _REASON_LENGTH else text[: _REASON_LENGTH - 1] + "…"
