"""One instance of a variant: a container, its models, and the requests that it answers."""

from __future__ import annotations

import time
from typing import Protocol

from triton_ensembles.endpoint.hosting import faults
from triton_ensembles.endpoint.hosting.budgets import Budgets
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.disk import Disk
from triton_ensembles.endpoint.hosting.errors import HostingError, InternalFailure, ModelError
from triton_ensembles.endpoint.hosting.model import Model
from triton_ensembles.endpoint.hosting.report import Report
from triton_ensembles.endpoint.hosting.request import Invocation, Reply
from triton_ensembles.endpoint.hosting.status import InstanceStatus, ModelState, ModelStatus
from triton_ensembles.endpoint.hosting.triton_api import ContainerAnswered, ContainerDied, Pieces
from triton_ensembles.errors import EnsembleError


class Hosting(Protocol):
    """What differs between a multi-model instance and a single-model one."""

    async def prepare(self) -> None:
        """Whatever must lie on the disk before the container starts. Raises HostingError."""

    def state(self, target_model: str | None, /) -> ModelState | None:
        """Where the model is that a request would get; None when the instance has nothing of it."""

    async def acquire(self, target_model: str | None, /) -> Model:
        """The model, ready to be invoked and in use until ``release``. Raises HostingError."""
        ...

    def release(self, model: Model) -> None: ...

    async def make_way(self, model: Model, /) -> bool:
        """After a 507 to an invocation of ``model``: whether another model could be unloaded."""
        ...

    async def measured(self, memory_bytes: int) -> None:
        """What the server uses, told every few seconds."""

    def started(self) -> None: ...

    def died(self) -> None: ...

    async def close(self) -> None: ...

    def statuses(self) -> tuple[ModelStatus, ...]: ...


class Instance:
    """``in_flight`` counts the requests that wait here or are being answered."""

    def __init__(
        self, index: int, container: Container, hosting: Hosting, disk: Disk, budgets: Budgets, report: Report
    ) -> None:
        self.index = index
        self.in_flight = 0
        self._container = container
        self._hosting = hosting
        self._disk = disk
        self._budgets = budgets
        self._report = report
        self._memory_bytes = 0
        container.when_died(self._died)
        container.when_restarted(self._started)

    @property
    def ready(self) -> bool:
        return self._container.ready

    def state(self, target_model: str | None) -> ModelState | None:
        return self._hosting.state(target_model)

    async def start(self) -> None:
        """Raises HostingError, with Triton's own reason where it has one."""
        await self._hosting.prepare()
        try:
            await self._container.start()
        except EnsembleError as error:
            raise InternalFailure(
                f"The container did not pass the ping health check: {error.message}", cure=error.cure
            ) from None
        self._started()

    async def stop(self) -> None:
        await self._hosting.close()
        await self._container.stop()

    async def look(self) -> None:
        """Measure the memory, and have what is too much of it freed."""
        if self._container.ready:
            self._memory_bytes = used = await self._container.memory()
            self._report.metric("MemoryUtilization", 100 * used / self._budgets.memory_bytes, "Percent")
            await self._hosting.measured(self._memory_bytes)

    async def invoke(self, request: Invocation) -> Reply:
        self.in_flight += 1
        try:
            model = await self._hosting.acquire(request.target_model)
        except BaseException:
            self.in_flight -= 1
            raise
        try:
            reply = await self._exchange(model, request)
        except BaseException:
            self._done(model)
            raise
        if isinstance(reply.body, Pieces):
            reply.body.on_end(lambda: self._done(model))
        else:
            self._done(model)
        return reply

    def status(self) -> InstanceStatus:
        server = self._container.server if self._container.ready else None
        return InstanceStatus(
            index=self.index,
            ready=self._container.ready,
            pid=server.pid if server else None,
            restarts=self._container.restarts,
            in_flight=self.in_flight,
            memory_bytes=self._memory_bytes if server else 0,
            disk_bytes=self._disk.used,
            sagemaker_url=server.sagemaker_url if server else "",
            metrics_url=server.metrics_url if server and server.metrics_on else None,
            models=self._hosting.statuses(),
        )

    async def _exchange(self, model: Model, request: Invocation) -> Reply:
        began = time.perf_counter()
        try:
            return await self._ask(model, request)
        except ContainerAnswered as answer:
            error: HostingError = ModelError(
                f'Received error ({answer.status}) from the container with message "{answer.message}"',
                original_status=answer.status,
                original_message=answer.message,
            )
        except ContainerDied:
            raise InternalFailure(
                "the container ended while it worked on the request; it is being started anew", cure="try again"
            ) from None
        except TimeoutError:
            words = "Your invocation timed out while waiting for a response from the container"
            error = ModelError(
                f'Received error (0) from the container with message "{words}"',
                original_status=0,
                original_message=words,
                cure=f"a model has {self._budgets.invoke_seconds:.0f} s for an answer: send it less at a time",
            )
        finally:
            elapsed = (time.perf_counter() - began) * 1e6
            self._report.metric("ModelLatency", elapsed, "Microseconds", model.target_model)
        self._report.error(model.target_model, error)
        raise error

    async def _ask(self, model: Model, request: Invocation) -> Reply:
        api = model.api
        assert api is not None, "only a loaded model is acquired"
        seconds = self._budgets.invoke_seconds
        try:
            return await api.invoke(model.invoke_path, request, seconds, self.index)
        except ContainerAnswered as answer:
            again = answer.status == faults.OUT_OF_RESOURCES and isinstance(request.body, bytes)
            if not (again and await self._hosting.make_way(model)):
                raise
        return await api.invoke(model.invoke_path, request, seconds, self.index)

    def _done(self, model: Model) -> None:
        self.in_flight -= 1
        self._hosting.release(model)

    def _started(self) -> None:
        self._hosting.started()
        self._report.event("instance-started", f"tritonserver is up (process {self._container.server.pid})")

    def _died(self, reason: str) -> None:
        self._hosting.died()
        self._report.event("instance-died", reason)
        self._report.error("", InternalFailure(reason, cure="see the endpoint's log for its last words"))
