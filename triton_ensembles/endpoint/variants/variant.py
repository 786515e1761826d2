"""A production variant: instances of one container, and the choice among them."""

import asyncio
import contextlib
import shutil
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.endpoint.variants.container_variables import container_variables, without_effect
from triton_ensembles.endpoint.variants.instance_report import RECENT_ERRORS, Report
from triton_ensembles.endpoint.variants.spec import Mode, VariantPlan
from triton_ensembles.endpoint.variants.status import RecentError, VariantStatus
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.hosting.container import Container, Launch
from triton_ensembles.hosting.container_python import container_python
from triton_ensembles.hosting.disk import Disk, model_hash
from triton_ensembles.hosting.errors import ServiceUnavailable, ValidationError
from triton_ensembles.hosting.instance import Instance
from triton_ensembles.hosting.log_file import append_line, trim_log
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.model_cache import ModelCache
from triton_ensembles.hosting.objects import S3Objects
from triton_ensembles.hosting.request import Invocation, Reply
from triton_ensembles.hosting.single_model import SingleModel
from triton_ensembles.hosting.together import start_all, stop_all
from triton_ensembles.sagemaker.contract import SHELL_CHARACTERS, TARGET_MODEL
from triton_ensembles.sagemaker.model_state import ModelState
from triton_ensembles.sagemaker.routing import rank
from triton_ensembles.server.home import Installation
from triton_ensembles.server.server_command import ServerOptions
from triton_ensembles.triton.sagemaker_variables import variable_faults

_MEASURE_SECONDS = (2.0, 10.0)  # between measurements: at least and at most
_PAUSE_FACTOR = 200  # times the duration of the last one: tens of ms for a server with many pages and threads


@dataclass(frozen=True)
class Context:
    """The surroundings of a variant, given to it besides its plan.

    Attributes:
        endpoint: the name.
        root: a folder that the variant makes and removes. Triton passes its path to a shell.
        log: the endpoint's log file; all instances append Triton's own lines to it. It is kept.
        server: the Triton of the containers; None for the one that ``setup`` has installed.
    """

    endpoint: str
    objects: S3Objects
    root: Path
    log: Path
    metrics: Metrics
    events: RecentEvents
    server: Installation | None = None


class Variant:
    """A production variant of an endpoint.

    ``start`` must be awaited on the event loop of a thread that outlives the variant: the kernel ends a tritonserver
    with the thread that launched it.
    """

    def __init__(self, plan: VariantPlan, context: Context) -> None:
        self.plan = plan
        self._spec = plan.spec
        self._budgets = plan.budgets
        self._context = replace(context, root=context.root.resolve())
        self._errors: deque[RecentError] = deque(maxlen=RECENT_ERRORS)
        self._instances: list[Instance] = []
        self._invocations = 0
        self._python = ""
        self.stopping = False  # it refuses new requests
        self._watching: asyncio.Task[None] | None = None
        self._removing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start every instance; a single model is loaded then. After a HostingError nothing is left behind."""
        self._python, substitution = await asyncio.to_thread(container_python, self._spec.image, self._context.server)
        if substitution:
            self._warn(substitution)
        if not self._spec.is_gateway:
            for fault in variable_faults(self._spec.environment, self._spec.release):
                self._warn(fault)
            for sentence in without_effect(self._spec):
                self._report(0).event("variable", sentence)
        try:
            await self._add(self.plan.instance_count)
        except BaseException:
            await self.stop()
            raise
        self._watching = asyncio.create_task(self._watch())

    async def resize(self, count: int) -> None:
        """Change to ``count`` instances: start further ones, or let the last ones finish their requests and stop them.

        Raises HostingError as ``start`` does; the instances are those of before then.
        """
        await self._add(count - len(self._instances))
        surplus, self._instances = self._instances[count:], self._instances[:count]
        self.plan = replace(self.plan, instance_count=count)
        if surplus:
            self._removing = asyncio.create_task(self._remove(surplus))
            await asyncio.shield(self._removing)

    def weigh(self, weight: float) -> None:
        """Change its share of the requests."""
        self.plan = replace(self.plan, weight=weight)

    async def invoke(self, request: Invocation) -> Reply:
        """The container's answer. Raises HostingError. Canceling it is safe: a load that it began continues."""
        self._invocations += 1
        if self.stopping or not self._instances:
            raise ServiceUnavailable("the variant is not in service")
        _check_target_model(self._spec.mode, request.target_model)
        return await self._choose(request.target_model).invoke(request)

    async def stop(self) -> None:
        """Refuse new requests (ServiceUnavailable), let running ones end, stop all instances, remove their folder."""
        self.stopping = True
        await self._drain(self._instances)
        tasks = [task for task in (self._watching, self._removing) if task is not None]
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await stop_all(self._instances)
        finally:
            await asyncio.to_thread(shutil.rmtree, self._context.root, ignore_errors=True)

    def snapshot(self) -> VariantStatus:
        """The present state. Cheap: it does not read /proc."""
        instances = tuple(instance.status() for instance in self._instances)
        return VariantStatus(instances, tuple(self._errors), self._invocations, self._python)

    async def _add(self, count: int) -> None:
        """Start this many more instances. When one fails, stop them all and raise its error."""
        first = len(self._instances)
        added = [self._make_instance(first + number) for number in range(count)]
        try:
            await start_all(added)
        except BaseException:
            await self._remove(added)
            raise
        self._instances += added

    async def _remove(self, instances: Sequence[Instance]) -> None:
        """Let the running requests of instances that get no more of them end, and stop them."""
        await self._drain(instances)
        await stop_all(instances)
        for instance in instances:
            prometheus = self._context.metrics.prometheus
            prometheus.forget(self._context.endpoint, self.plan.name, str(instance.index), of_gauges=True)
            for model in instance.status().models:
                self._report(instance.index).gone(model.target_model)
            await asyncio.to_thread(shutil.rmtree, self._context.root / str(instance.index), ignore_errors=True)

    def _make_instance(self, index: int) -> Instance:
        report = self._report(index)
        disk = Disk(self._context.root / str(index), self._context.objects, self._budgets.disk_bytes)
        multi = self._spec.mode == "MultiModel"
        folder = disk.empty_folder() if multi else disk.model_folder(model_hash(self._spec.model_data_url))
        seconds, home = self._budgets.startup_seconds, self._context.server
        options = ServerOptions(log=self._context.log, ready_seconds=seconds, python=self._python, home=home)
        variables = container_variables(self._spec.environment, multi_model=multi)
        container = Container(Launch(folder, variables, options, self._spec.is_gateway, self._spec.release))
        shared = container, disk, self._budgets, report
        models = ModelCache(self._model, *shared) if multi else SingleModel(self._spec.model_data_url, *shared)
        return Instance(index, container, models, disk, self._budgets, report)

    def _model(self, target_model: str, taken: int) -> Model:
        # Not of the object's URL: "x" and "/x" after a prefix without a slash are two models, as on AWS.
        hash = model_hash(self._spec.model_data_url, target_model, taken)
        alias = f"{target_model}-{taken + 1}" if taken else ""
        kept = self._spec.cache_setting == "Enabled"
        return Model(target_model, hash, f"/models/{hash}/invoke", self._spec.object_url(target_model), kept, alias)

    def _report(self, index: int) -> Report:
        context = self._context
        return Report(
            context.endpoint, self.plan.name, index, context.metrics, context.events, self._errors, self._serves
        )

    def _serves(self, target_model: str) -> bool:
        return any(instance.state(target_model) is ModelState.LOADED for instance in self._instances)

    def _warn(self, error: EnsembleError) -> None:
        """Say it where people look: in the events, among the recent errors and in the log."""
        self._report(0).warning("", error.message, error.cure)
        append_line(self._context.log, f"WARNING: {error}")

    def _choose(self, target_model: str | None) -> Instance:
        """The instance that can answer soonest."""

        def place(instance: Instance) -> tuple[bool, int, int, int]:
            return rank(instance.ready, instance.state(target_model), instance.in_flight, instance.models)

        return min(self._instances, key=place)

    async def _drain(self, instances: Sequence[Instance]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._budgets.drain_seconds):
                while any(instance.in_flight for instance in instances):
                    await asyncio.sleep(0.05)

    async def _watch(self) -> None:
        took = 0.0
        failed = ""
        least, most = _MEASURE_SECONDS
        while True:
            await asyncio.sleep(min(max(least, took * _PAUSE_FACTOR), most))
            began = time.monotonic()
            try:
                await asyncio.gather(*(instance.measure() for instance in self._instances))
                await asyncio.to_thread(trim_log, self._context.log)
            except Exception as error:  # the next look may succeed, and nothing else measures
                if str(error) != failed:
                    failed = str(error)
                    self._report(0).warning("", f"the endpoint could not be measured: {type(error).__name__}: {failed}")
            took = time.monotonic() - began


def _check_target_model(mode: Mode, target_model: str | None) -> None:
    """Raise ValidationError where a container of this mode takes no such request."""
    if mode == "SingleModel":
        if target_model is not None:
            message = "The endpoint is not a multi-model endpoint and does not support target model header"
            raise ValidationError(message, cure="leave out TargetModel, or create the model with Mode MultiModel")
    elif target_model is None:
        message = "The endpoint is a multi-model endpoint and the request is missing a target model header"
        raise ValidationError(message, cure="name the archive in TargetModel, relative to ModelDataUrl")
    elif not TARGET_MODEL.fullmatch(target_model) or SHELL_CHARACTERS.search(target_model):
        message = (
            f"TargetModel {target_model[:200]!r} is not valid: it must have 1 to 1024 printable characters, "
            "must not begin with a space, and must not have any of ;|&$`<>()[]{}\\\"'*?~#! in it"
        )
        raise ValidationError(message, cure="rename the object")
