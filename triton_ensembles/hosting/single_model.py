"""The one model of a single-model instance: downloaded before the container starts, which loads it itself."""

import asyncio
from collections.abc import Mapping

from triton_ensembles.hosting import faults
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container
from triton_ensembles.hosting.disk import Disk, NoDiskSpace, model_hash
from triton_ensembles.hosting.errors import ServiceUnavailable
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.model_processes import Usage
from triton_ensembles.hosting.report import Report
from triton_ensembles.sagemaker.model_state import ModelState


class SingleModel:
    """The counterpart of :class:`ModelCache` for an instance with one model."""

    def __init__(self, url: str, container: Container, disk: Disk, budgets: Budgets, report: Report) -> None:
        self._url = url
        self._container = container
        self._disk = disk
        self._budgets = budgets
        self._report = report
        self._model = Model(self._url.rpartition("/")[2], model_hash(self._url), "/invocations")

    async def prepare(self) -> None:
        try:
            async with asyncio.timeout(self._budgets.load_seconds):
                await self._disk.fetch(self._model, self._url, self._make_room)
        except NoDiskSpace as full:
            raise faults.file_system_full(self._model.target_model, str(full), False) from None
        except BaseException as error:
            raise faults.not_on_disk(self._url, error) or error from None

    def container_started(self) -> None:
        self._model.state = ModelState.LOADED
        self._model.loads += 1

    def container_died(self) -> None:
        self._model.state, self._model.stubs, self._model.broken = ModelState.ON_DISK, 0, ""

    async def count_environments(self) -> None:
        """Count what the container has unpacked. Raises HostingError when that is more than the disk has room for."""
        self._disk.environment_bytes = await self._container.environment_bytes()
        if self._disk.free < 0:
            raise self._disk.not_enough_room(self._model, 0)

    @property
    def count(self) -> int:
        return 1

    def state(self, _: str | None, /) -> ModelState:
        return self._model.state

    async def acquire(self, _: str | None, /) -> Model:
        try:
            async with asyncio.timeout(self._budgets.invoke_seconds):
                self._model.api = await self._container.api()
        except TimeoutError:
            cure = "try again, or see the endpoint's log"
            raise ServiceUnavailable("the container is not ready", cure=cure) from None
        self._model.begin()
        self._model.hits += 1
        return self._model

    def release(self, model: Model) -> None:
        model.in_use -= 1
        model.touch()

    async def evict_other(self, _: Model, /) -> bool:
        """There is no other model."""
        return False

    def loads(self) -> dict[Model, int]:
        """The number of loads of the model, if it is loaded now."""
        return {self._model: self._model.loads} if self._model.loaded else {}

    def note_usage(self, usage: Usage, loads: Mapping[Model, int]) -> None:
        model, stubs = self._model, usage.stubs.get(self._model.hash, 0)
        model.load_bytes = usage.total
        if loads == self.loads():  # it has been loaded all the time
            if stubs < model.stubs:
                faults.note_ended_stub(model, self._report)
            model.stubs = max(stubs, model.stubs)

    async def close(self) -> None:
        """There is nothing to cancel."""

    def all(self) -> list[Model]:
        return [self._model]

    async def _make_room(self, size: int) -> None:
        if self._disk.free < size:
            raise self._disk.not_enough_room(self._model, size)
