"""An instance of a variant: a container, its models and the requests that it answers."""

import time
from copy import copy

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.hosting import faults
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container
from triton_ensembles.hosting.disk import Disk
from triton_ensembles.hosting.errors import InternalFailure, ModelError, ModelNotReadyException
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.model_cache import ModelCache
from triton_ensembles.hosting.report import Report
from triton_ensembles.hosting.request import Invocation, Pieces, Reply
from triton_ensembles.hosting.single_model import SingleModel
from triton_ensembles.hosting.status import InstanceStatus
from triton_ensembles.hosting.triton_api import ContainerAnswered, ContainerDied, NeverSent, TritonApi
from triton_ensembles.sagemaker.model_state import ModelState

_NOT_FOUND = "Request for unknown model: '{}' is not found"  # core r24.10 model_repository_manager.cc
_MOST_CONTAINERS = 3  # that may die one after the other before a request leaves
Models = ModelCache | SingleModel


class Instance:
    """A container and its models. ``in_flight`` counts the requests that wait here or are being answered."""

    def __init__(
        self, index: int, container: Container, models: Models, disk: Disk, budgets: Budgets, report: Report
    ) -> None:
        self.index = index
        self.in_flight = 0
        self._container = container
        self._models = models
        self._disk = disk
        self._budgets = budgets
        self._report = report
        self._memory_bytes = 0
        self._not_ready = 0
        container.on_death = self._died
        container.on_restart = self._started

    @property
    def ready(self) -> bool:
        return self._container.ready

    @property
    def models(self) -> int:
        """The number of models on the instance's disk or on their way to it."""
        return self._models.count

    def state(self, target_model: str | None) -> ModelState | None:
        return self._models.state(target_model)

    async def start(self) -> None:
        """Start the container. Raises HostingError, with Triton's own reason if there is one."""
        await self._models.prepare()
        try:
            await self._container.start()
        except EnsembleError as error:
            message = f"The container did not pass the ping health check: {error.message}"
            raise InternalFailure(message, cure=error.cure or faults.cure_of(message)) from None
        await self._models.count_environments()
        self._started()

    async def stop(self) -> None:
        try:
            await self._models.close()
        finally:
            await self._container.stop()

    async def measure(self) -> None:
        """Measure the memory, and unload idle models while it exceeds the budget."""
        if self._container.ready:
            loads = self._models.loads()
            usage = await self._container.usage()
            self._memory_bytes = usage.total
            self._report.metric("ConcurrentRequestsPerModel", self.in_flight)
            self._report.metric("CPUUtilization", await self._container.cpu())
            self._report.metric("MemoryUtilization", 100 * usage.total / self._budgets.memory_bytes)
            self._report.metric("DiskUtilization", 100 * self._disk.used / self._budgets.disk_bytes)
            self._report.metric("UnpackedEnvironments", self._disk.environment_bytes)
            if usage.total:  # the server has not ended meanwhile
                self._models.note_usage(usage, loads)

    async def invoke(self, request: Invocation) -> Reply:
        self.in_flight += 1
        try:
            model, reply = await self._acquire_and_answer(request)
        except BaseException:
            self.in_flight -= 1
            raise
        if isinstance(reply.body, Pieces):
            reply.body.on_end = lambda: self._done(model)
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
            not_ready=self._not_ready,
            memory_bytes=self._memory_bytes if server else 0,
            disk_bytes=self._disk.used,
            environment_bytes=self._disk.environment_bytes,
            metrics_url=server.metrics_url if server and server.metrics_on else None,
            models=tuple(map(copy, self._models.all())),
        )

    async def _acquire_and_answer(self, request: Invocation) -> tuple[Model, Reply]:
        """A request that has not left before its container died is the next container's."""
        for _ in range(_MOST_CONTAINERS):
            try:
                model = await self._models.acquire(request.target_model)
            except ModelNotReadyException as error:
                self._not_ready += 1
                self._report.error(request.target_model or "", error)
                raise
            api = model.api
            assert api is not None, "only a loaded model is acquired"
            try:
                return model, await self._answer(model, api, request)
            except NeverSent:
                self._models.release(model)
                if not await api.has_ended():
                    break
            except BaseException:
                self._models.release(model)
                raise
        raise _container_ended()

    async def _answer(self, model: Model, api: TritonApi, request: Invocation) -> Reply:
        """Raises HostingError, or NeverSent when the container had ended before."""
        began, asked = time.perf_counter(), model.hash
        try:
            return await self._send(model, api, request)
        except ContainerAnswered as answer:
            ended = model.loaded and model.hash == asked and faults.ENDED_STUB in answer.message
            if ended:
                faults.note_ended_stub(model, self._report)
            cure = faults.ENDED_STUB_CURE if ended and not model.heals else ""
            error = _received(answer.status, answer.message, cure)
        except NeverSent:
            raise
        except ContainerDied:
            await api.has_ended()  # or the client's next request would meet the same server
            raise _container_ended() from None
        except TimeoutError:
            message = "Your invocation timed out while waiting for a response from the container"
            cure = f"send less at a time: a model has {self._budgets.invoke_seconds:.0f} s to answer"
            error = _received(0, message, cure)
        finally:
            elapsed = (time.perf_counter() - began) * 1e6
            self._report.metric("ModelLatency", elapsed, model.target_model)
        self._report.error(model.target_model, error)
        raise error

    async def _send(self, model: Model, api: TritonApi, request: Invocation) -> Reply:
        seconds = self._budgets.invoke_seconds
        if model.alias:
            request = request._replace(target_model=model.alias)
        try:
            return await api.invoke(model.invoke_path + request.operation, request, seconds)
        except ContainerAnswered as answer:
            if not (isinstance(request.body, bytes) and await self._may_send_again(model, answer)):
                raise
        return await api.invoke(model.invoke_path + request.operation, request, seconds)

    async def _may_send_again(self, model: Model, answer: ContainerAnswered) -> bool:
        if answer.status == faults.OUT_OF_RESOURCES:
            return await self._models.evict_other(model)
        # On a slow machine, its lookup may still meet a load (call_order.py); nothing was executed then.
        return model.loaded and answer.message == _NOT_FOUND.format(model.name_in_container)

    def _done(self, model: Model) -> None:
        self.in_flight -= 1
        self._models.release(model)

    def _started(self) -> None:
        self._models.container_started()
        ready = f"{self._container.name} is ready (process {self._container.server.pid})"
        self._report.event("instance-started", ready)

    def _died(self, reason: str) -> None:
        self._disk.environment_bytes = 0  # they are removed before the next server starts
        self._models.container_died()
        self._report.event("instance-died", reason)
        self._report.error("", InternalFailure(reason, cure="see the end of the endpoint's log"))


def _received(status: int, message: str, cure: str) -> ModelError:
    text = f'Received error ({status}) from the container with message "{message}"'
    return ModelError(text, original_status=status, original_message=message, cure=cure)


def _container_ended() -> InternalFailure:
    message = "the container ended while it worked on the request; it is being restarted"
    return InternalFailure(message, cure="try again")
