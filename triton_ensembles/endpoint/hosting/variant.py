"""A production variant: instances of one container, and the choice among them."""

import asyncio
import contextlib
import os
import shutil
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from triton_ensembles.endpoint.events import RecentEvents
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.disk import Disk, model_hash
from triton_ensembles.endpoint.hosting.errors import ServiceUnavailable, ValidationError
from triton_ensembles.endpoint.hosting.instance import Instance, InstanceModels
from triton_ensembles.endpoint.hosting.model_cache import ModelCache
from triton_ensembles.endpoint.hosting.objects import S3Objects
from triton_ensembles.endpoint.hosting.report import RECENT_ERRORS, Report
from triton_ensembles.endpoint.hosting.request import Invocation, Reply
from triton_ensembles.endpoint.hosting.single_model import SingleModel
from triton_ensembles.endpoint.hosting.spec import VariantPlan
from triton_ensembles.endpoint.hosting.status import RecentError, VariantStatus
from triton_ensembles.endpoint.metrics.record import Metrics
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.sagemaker.contract import SHELL_CHARACTERS, TARGET_MODEL
from triton_ensembles.sagemaker.model_state import ModelState
from triton_ensembles.sagemaker.routing import rank
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.home import Installation, find_home, server_python
from triton_ensembles.triton.ports import is_free
from triton_ensembles.triton.releases import image_of, releases
from triton_ensembles.triton.sagemaker_server import PORT_VARIABLES
from triton_ensembles.triton.sagemaker_variables import (
    ALLOW_METRICS,
    METRIC_NAMESPACE,
    MULTI_MODEL,
    PUBLISH_METRICS,
    variable_faults,
    variables,
)
from triton_ensembles.triton.stubs import prepare_stubs

_MEASURE_SECONDS = (2.0, 10.0)  # between measurements: at least and at most
_PAUSE_FACTOR = 200  # times the duration of the last one: tens of ms for a server with many pages and threads
_LOG_BYTES = 256 << 20
# Those that docker/sagemaker/serve has otherwise: the verbose log takes some kilobytes for each request, and a load
# takes one of the threads (of which the server has 8) for itself.
CONTAINER_VARIABLES = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false", "SAGEMAKER_TRITON_THREAD_COUNT": "64"}


class Variant:
    """One production variant of an endpoint.

    Args:
        root: a folder that ``start`` makes and ``stop`` removes. Triton passes its path to a shell.
        log: the endpoint's log file; all instances append Triton's own lines to it. It is kept after ``stop``.
        server: the Triton of its containers; None for the one that ``setup`` has installed.

    ``start`` must be awaited on the event loop of a thread that outlives the variant: the kernel ends a tritonserver
    with the thread that launched it.
    """

    def __init__(
        self,
        plan: VariantPlan,
        *,
        objects: S3Objects,
        root: Path,
        log: Path,
        endpoint: str,
        metrics: Metrics,
        events: RecentEvents,
        server: Installation | None = None,
    ) -> None:
        self.plan = plan
        self._spec = plan.spec
        self._budgets = plan.budgets
        self._objects = objects
        self._root = root.resolve()
        self._log = log
        self._endpoint = endpoint
        self._metrics = metrics
        self._events = events
        self._server = server
        self._errors: deque[RecentError] = deque(maxlen=RECENT_ERRORS)
        self._instances: list[Instance] = []
        self._invocations = 0
        self._python = ""
        self.stopping = False  # it refuses new requests
        self._watching: asyncio.Task[None] | None = None
        self._removing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start every instance; a single model is loaded then. After a HostingError nothing is left behind."""
        self._python, substitution = await asyncio.to_thread(_python_for, self._spec.image, self._server)
        if substitution:
            self._warn(substitution)
        for name in self.plan.kept:
            self._report(0).event("metrics", f"{name} is kept and has no effect here: all metrics are on /metrics")
        if not self._spec.is_gateway:
            self._judge_variables()
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
        self._check(request.target_model)
        return await self._choose(request.target_model).invoke(request)

    async def stop(self) -> None:
        """Refuse new requests (ServiceUnavailable), let running ones end, stop all instances and remove ``root``."""
        self.stopping = True
        await self._drain(self._instances)
        tasks = [task for task in (self._watching, self._removing) if task is not None]
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await stop_all(self._instances)
        finally:
            await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)

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
            self._metrics.prometheus.forget(self._endpoint, self.plan.name, str(instance.index), of_gauges=True)
            for model in instance.status().models:
                self._report(instance.index).gone(model.target_model)
            await asyncio.to_thread(shutil.rmtree, self._root / str(instance.index), ignore_errors=True)

    def _make_instance(self, index: int) -> Instance:
        report = self._report(index)
        disk = Disk(self._root / str(index), self._objects, self._budgets.disk_bytes)
        multi = self._spec.mode == "MultiModel"
        folder = disk.empty_folder() if multi else disk.model_folder(model_hash(self._spec.model_data_url))
        seconds = self._budgets.startup_seconds
        environment = self._environment(index)
        gateway, release = self._spec.is_gateway, self._spec.release
        container = Container(folder, environment, self._log, seconds, self._python, gateway, release, self._server)
        kind: type[InstanceModels] = ModelCache if multi else SingleModel
        models = kind(self._spec, container, disk, self._budgets, report)
        return Instance(index, container, models, disk, self._budgets, report)

    def _report(self, index: int) -> Report:
        return Report(self._endpoint, self.plan.name, index, self._metrics, self._events, self._errors, self._serves)

    def _serves(self, target_model: str) -> bool:
        return any(instance.state(target_model) is ModelState.LOADED for instance in self._instances)

    def _warn(self, error: EnsembleError) -> None:
        """Say it where people look: in the events, among the recent errors and in the log."""
        self._report(0).warning("", error.message, error.cure)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"WARNING: {error}\n")

    def _judge_variables(self) -> None:
        """Say which variables the container does not read, and which are without effect on this machine."""
        for fault in variable_faults(self._spec.environment, self._spec.release):
            self._warn(fault)
        if PUBLISH_METRICS in self._spec.environment and not self._spec.metric_namespace:
            needed = f"{PUBLISH_METRICS}=true, {ALLOW_METRICS}=true and {METRIC_NAMESPACE}"
            self._report(0).event("variable", f"Triton's metrics are not published: that needs {needed}")
        for name in self._spec.environment:
            if (known := variables().get(name)) and known.here:
                self._report(0).event("variable", f"{name} has no effect here: {known.here}")

    def _environment(self, index: int) -> Mapping[str, str]:
        """The container's variables, with those that the platform sets."""
        variables = {**CONTAINER_VARIABLES, **self._spec.environment}
        if self._spec.mode == "MultiModel":
            variables[MULTI_MODEL] = "true"
        for name, variable in PORT_VARIABLES.items():
            # Here instances share a machine, and so does an update with what it replaces: the first gets what is set.
            if (port := variables.get(variable, "")).isdecimal() and (index or not is_free(int(port))):
                del variables[variable]
                self._report(index).event("port", f"port {port} of {variable} is another server's: {name} has its own")
        return variables

    def _check(self, target_model: str | None) -> None:
        if self._spec.mode == "SingleModel":
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
                await asyncio.to_thread(trim_log, self._log, _LOG_BYTES)
            except Exception as error:  # the next look may succeed, and nothing else measures
                if str(error) != failed:
                    failed = str(error)
                    self._report(0).warning("", f"the endpoint could not be measured: {type(error).__name__}: {failed}")
            took = time.monotonic() - began


def _python_for(image: str, server: Installation | None = None) -> tuple[str, EnsembleError | None]:
    """The Python for the stubs of a container of this image, such as "3.10", and why it is not the image's.

    Where the image names no release of Triton, it is the one that runs this.
    """
    target, oldest = Destination(image=image), next(iter(releases().values()))
    # AWS has images that are older than the table: 21.08, 22.05. They have the Python of its first row.
    release = oldest if target.image_names_release and target.release_name < oldest.release else image_of(target)
    own = server.python if server else server_python()
    if release is None or release.python in ("", own):
        return own, None
    try:
        prepare_stubs(server or find_home(), release.python)
    except EnsembleError as error:
        there = f"the image of Triton {release.release} runs Python steps with Python {release.python}"
        message = f"{there}, but here they run with Python {own}: {error.message}"
        return own, EnsembleError(message, cure=error.cure)
    return release.python, None


async def start_all(items: Iterable[Any]) -> None:
    """Start them all at the same time. When one fails, the others are canceled and its error is raised."""
    try:
        async with asyncio.TaskGroup() as starting:
            for item in items:
                starting.create_task(item.start())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def stop_all(items: Iterable[Any]) -> None:
    """Stop them all at the same time. The first error is raised when each has stopped or failed to."""
    results = await asyncio.gather(*(item.stop() for item in items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


def trim_log(log: Path, most_bytes: int) -> None:
    """Move the content of a log that has grown too large to ``<name>.1``: servers append to the open file."""
    if log.exists() and log.stat().st_size > most_bytes:  # people remove logs
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)
