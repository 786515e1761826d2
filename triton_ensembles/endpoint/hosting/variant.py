"""A production variant: instances of one container, and the choice among them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.endpoint.hosting import logfile
from triton_ensembles.endpoint.hosting.budgets import Budgets
from triton_ensembles.endpoint.hosting.container import ContainerSpec
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.disk import Disk, model_hash
from triton_ensembles.endpoint.hosting.errors import (
    InternalFailure,
    ModelError,
    ServiceUnavailable,
    ValidationError,
)
from triton_ensembles.endpoint.hosting.instance import Hosting, Instance
from triton_ensembles.endpoint.hosting.model_cache import Models
from triton_ensembles.endpoint.hosting.objects import ModelObjects
from triton_ensembles.endpoint.hosting.observer import Observer
from triton_ensembles.endpoint.hosting.report import Diary, Report
from triton_ensembles.endpoint.hosting.request import Invocation, Reply
from triton_ensembles.endpoint.hosting.single_model import SingleModel
from triton_ensembles.endpoint.hosting.status import ModelState, VariantStatus
from triton_ensembles.triton.sagemaker_contract import SHELL_CHARACTERS, TARGET_MODEL
from triton_ensembles.triton.sagemaker_entry_point import MULTI_MODEL
from triton_ensembles.triton.sagemaker_server import PORT_VARIABLES

_LOOK_SECONDS = 2.0
_LOOK_MOST_SECONDS = 10.0
_PAUSE_AFTER_LOOK = 200  # times what the look took: of a server with many pages and threads it takes tens of ms
_PLAIN_PATH = re.compile(r"[0-9A-Za-z._/+@=,:-]+")
# Of the states in which an instance may have a model, those that let it answer sooner come first.
_SOONEST = {ModelState.LOADED: 0, ModelState.ON_DISK: 2, ModelState.UNLOADING: 2, None: 3}


class Variant:
    """One production variant of an endpoint.

    Args:
        name: VariantName.
        spec: the container.
        instance_count: how many tritonservers.
        objects: where archives come from.
        root: a folder of the variant's own, made by ``start`` and removed by ``stop``. Its path may hold letters,
            digits and ``._-/+@=,:`` only (Triton hands it to a shell).
        log: the endpoint's log file; all instances append Triton's own lines to it. It stays after ``stop``.
        budgets: limits of each instance.
        observer: told of metrics and events.
        log_stream_arn: given back in ModelError.

    ``start`` must be awaited on a loop whose thread lasts: the kernel ends a tritonserver with the thread that launched
    it.
    """

    def __init__(
        self,
        name: str,
        spec: ContainerSpec,
        *,
        instance_count: int,
        objects: ModelObjects,
        root: Path,
        log: Path,
        budgets: Budgets,
        observer: Observer,
        log_stream_arn: str = "",
    ) -> None:
        self.name = name
        self._spec = spec
        self._instance_count = instance_count
        self._objects = objects
        self._root = root.resolve()
        self._log = log
        self._budgets = budgets
        self._observer = observer
        self._log_stream_arn = log_stream_arn
        self._diary = Diary()
        self._instances: list[Instance] = []
        self._invocations = 0
        self._stopping = False
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Bring every instance up, a single model loaded.

        Raises:
            HostingError: with the real reason, out of Triton's log where it comes from there. Nothing is left behind.
        """
        if not _PLAIN_PATH.fullmatch(str(self._root)):
            raise InternalFailure(f"the folder '{self._root}' has blanks or signs in its path", cure="choose another")
        try:
            self._instances = [self._make_instance(index) for index in range(self._instance_count)]
            async with asyncio.TaskGroup() as starting:
                for instance in self._instances:
                    starting.create_task(instance.start())
        except BaseException as error:
            await self.stop()
            if isinstance(error, BaseExceptionGroup):
                raise error.exceptions[0] from None  # they have the same archive and the same flags
            raise
        self._watching = asyncio.create_task(self._watch())

    async def invoke(self, request: Invocation) -> Reply:
        """One answer of the container, or a HostingError. Cancelling it is safe: a load that it began goes on."""
        self._invocations += 1
        if self._stopping or not self._instances:
            raise ServiceUnavailable("the variant is not in service")
        self._check(request.target_model)
        try:
            return await self._choose(request.target_model).invoke(request)
        except ModelError as error:
            error.log_stream_arn = self._log_stream_arn
            raise

    async def stop(self) -> None:
        """Refuse new requests (ServiceUnavailable), let running ones end (``drain_seconds``), stop all, remove root."""
        self._stopping = True
        await self._drain()
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        await asyncio.gather(*(instance.stop() for instance in self._instances))
        await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)

    def snapshot(self) -> VariantStatus:
        """How things stand at this moment; cheap, reads no /proc."""
        return VariantStatus(
            name=self.name,
            mode=self._spec.mode,
            cache_setting=self._spec.cache_setting,
            instances=tuple(instance.status() for instance in self._instances),
            errors=tuple(self._diary.errors),
            evictions=tuple(self._diary.evictions),
            invocations=self._invocations,
            memory_budget=self._budgets.memory_bytes,
            disk_budget=self._budgets.disk_bytes,
        )

    def _make_instance(self, index: int) -> Instance:
        root = self._root / str(index)
        report = Report(self._observer, self._diary, self.name, index)
        disk = Disk(root, self._objects, self._budgets.disk_bytes)
        multi = self._spec.mode == "MultiModel"
        folder = disk.empty_folder() if multi else disk.model_folder(model_hash(self._spec.model_data_url))
        container = Container(folder, self._environment(index), self._log, self._budgets.startup_seconds)
        hosting: Hosting
        if multi:
            hosting = Models(self._spec, container, disk, self._budgets, report)
        else:
            hosting = SingleModel(self._spec, container, disk, self._budgets)
        return Instance(index, container, hosting, disk, self._budgets, report)

    def _environment(self, index: int) -> Mapping[str, str]:
        """The container's variables as the platform completes them."""
        variables = dict(self._spec.environment)
        if self._spec.mode == "MultiModel":
            variables[MULTI_MODEL] = "true"
        if index:  # on AWS every instance has ports of its own; here the first one gets those that are asked for
            for variable in PORT_VARIABLES.values():
                variables.pop(variable, None)
        return variables

    def _check(self, target_model: str | None) -> None:
        if self._spec.mode == "SingleModel":
            if target_model is not None:
                raise ValidationError(
                    "The endpoint is not a multi-model endpoint and does not support target model header",
                    cure="leave out TargetModel, or create the model with Mode MultiModel",
                )
        elif target_model is None:
            raise ValidationError(
                "The endpoint is a multi-model endpoint and the request is missing a target model header",
                cure="name the archive in TargetModel, relative to ModelDataUrl",
            )
        elif not TARGET_MODEL.fullmatch(target_model) or SHELL_CHARACTERS.search(target_model):
            raise ValidationError(
                f"TargetModel {target_model[:200]!r} cannot be used: it may have 1 to 1024 printable characters, "
                "beginning with no blank, without any of ;|&$`<>()[]{}\\\"'*?~#!",
                cure="rename the object",
            )

    def _choose(self, target_model: str | None) -> Instance:
        """The instance that has the model, or gets it soonest; of several the least busy one."""

        def cost(instance: Instance) -> tuple[bool, int, int]:
            # 1: it is being brought up
            return not instance.ready, _SOONEST.get(instance.state(target_model), 1), instance.in_flight

        return min(self._instances, key=cost)

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._budgets.drain_seconds):
                while any(instance.in_flight for instance in self._instances):
                    await asyncio.sleep(0.05)

    async def _watch(self) -> None:
        took = 0.0
        while True:
            await asyncio.sleep(min(max(_LOOK_SECONDS, took * _PAUSE_AFTER_LOOK), _LOOK_MOST_SECONDS))
            began = time.monotonic()
            await asyncio.gather(*(instance.look() for instance in self._instances))
            await asyncio.to_thread(logfile.trim, self._log)
            took = time.monotonic() - began
