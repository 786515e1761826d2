"""The models in the container's memory: loaded, unloaded, and evicted when there is not enough memory."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.hosting import faults
from triton_ensembles.hosting.admission import Admission
from triton_ensembles.hosting.archive_steps import ensembles_in, steps_in
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container, Left
from triton_ensembles.hosting.container_calls import ContainerCalls
from triton_ensembles.hosting.disk import Disk
from triton_ensembles.hosting.errors import HostingError, ModelError
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.model_processes import Usage
from triton_ensembles.hosting.report import Report
from triton_ensembles.hosting.triton_api import ContainerAnswered, ContainerDied, TritonApi
from triton_ensembles.sagemaker.admission import Load
from triton_ensembles.sagemaker.loading import ModelSizes
from triton_ensembles.sagemaker.model_state import ModelState
from triton_ensembles.server.server_process import EXIT_SECONDS

_LOOK_SECONDS = 0.5  # between looks at the log for the reason of a load that will never end
_CANCEL_SECONDS = 10.0  # in which Triton answers a load whose processes have been killed
_MOST_STUCK = 8  # loads that never end, each of which takes one of the server's threads
_NO_STUB_SECONDS = 20.0  # without any process of a model, after which its load never ends
_STUB_KILLED = "its Python process ended while it started: the kernel kills it when memory is short"


class _NeverLoaded(Exception):
    """Triton has logged why it will never answer a load."""


@dataclass(frozen=True)
class _StuckLoad:
    """A load that a server is still working on, and will be until it ends: it refuses the model's id as long."""

    target_model: str
    api: TritonApi
    content: frozenset[tuple[str, int, int]]
    reason: str


class MemoryCache:
    """Loads and unloads models, several at a time; ``make`` is that of the :class:`ModelCache`.

    ``after_load`` is awaited before a loaded model is used. It may raise HostingError to have it unloaded again.
    """

    def __init__(
        self,
        make: Callable[[str, int], Model],
        container: Container,
        models: Mapping[str, Model],
        disk: Disk,
        budgets: Budgets,
        report: Report,
    ) -> None:
        self._make = make
        self._container = container
        self._models = models
        self._disk = disk
        self._budgets = budgets
        self._report = report
        self._sizes = ModelSizes()
        self._calls = ContainerCalls(models)
        self._stuck: list[_StuckLoad] = []
        self._abandoned: list[tuple[str, TritonApi, str]] = []  # with their ids
        self._admission = Admission(container, models, self._sizes, budgets, self._unload)
        self.after_load: Callable[[Model], Awaitable[None]]

    async def load(self, model: Model) -> float:
        """Load a model that is on disk, evicting others as necessary. Returns the seconds of the load itself.

        A load that fails beside other loads is tried again alone, so that none is blamed for another. Raises
        HostingError: the container refuses it, dies while loading it, or does not have enough memory.
        """
        folder = self._disk.url_to_load(model.hash)
        model.steps = steps_in(folder)
        for last in (False, True):
            load = await self._admission.enter(model, alone=last)
            try:
                return await self._load(load)
            except ContainerDied:
                continue  # for another reason than this load
            except HostingError as error:
                timed_out = isinstance(error, ModelError) and not error.original_status
                if last or timed_out or not load.beside:
                    raise
            finally:
                self._admission.leave(load)
        raise faults.died_before_loading(model.target_model)

    def became_idle(self) -> None:
        """A model that was in use no longer is: it may be evicted."""
        self._admission.became_idle()

    async def retire(self, model: Model) -> bool:
        """Unload the model unless it is in use. Returns whether it was unloaded."""
        if model.in_use or not model.loaded:
            return False
        await asyncio.shield(self._admission.begin_unload(model))  # whoever wanted it may be gone
        return True

    async def evict(self, why: str, spare: Model | None = None) -> bool:
        """Evict the least recently used model, or wait for an unload that has begun; False when all are in use."""
        return await self._admission.evict(why, spare)

    def note_usage(self, usage: Usage, loads: Mapping[Model, int]) -> None:
        """Note what each loaded model takes, evict idle ones while that is too much, and find those that are broken.

        ``loads``: how often each model that was loaded when the measurement began had been loaded.
        """
        for model, number in loads.items():
            if model.loaded and model.loads == number:  # all the time
                if taken := usage.of_models.get(model.hash):
                    self._sizes.note_growth(model, taken)
                if usage.stubs.get(model.hash, 0) < model.stubs:
                    faults.note_ended_stub(model, self._report)
        self._admission.evict_excess(usage, "the server has outgrown its memory budget")

    def forget(self) -> None:
        """The server has died: loaded models are now on disk only. A load or unload in progress notices that itself."""
        for model in self._models.values():
            if model.loaded:
                model.state, model.broken = ModelState.ON_DISK, ""
        self._report_count()

    async def close(self) -> None:
        """Cancel all unloads."""
        await self._admission.close()

    async def _load(self, load: Load[Model]) -> float:
        """Raises ContainerDied when the server has ended for another reason than this load."""
        model = load.model
        model.api = api = await self._container.api()
        model.state = ModelState.LOADING
        try:
            self._refuse_stuck(model, api)
            try:
                seconds = await self._load_despite_507(model, api, load)
            finally:  # Triton keeps what it has unpacked, whatever became of the model
                self._disk.environment_bytes = await self._container.environment_bytes()
            await self._stay_within_budget(model, api, load)
            try:
                await self.after_load(model)
            except BaseException:
                await self._unload(model)
                raise
            if api.closed:
                raise ContainerDied
        except BaseException:
            model.state = ModelState.ON_DISK
            raise
        model.state, model.broken = ModelState.LOADED, ""
        model.loads += 1
        self._report.metric("ModelLoadingTime", seconds * 1e6, model.target_model)
        self._report_count()
        return seconds

    async def _stay_within_budget(self, model: Model, api: TritonApi, load: Load[Model]) -> None:
        """Note what the model takes, and evict others, or else the model itself, when that is more than was free."""
        budget = self._budgets.memory_bytes
        noted = False
        while True:
            usage = await self._container.usage()
            if api.closed:
                raise ContainerDied
            if not noted:
                noted = True
                model.stubs = usage.stubs.get(model.hash, 0)
                own = usage.of_models.get(model.hash, 0)
                grown = 0 if load.beside else usage.total - load.used  # also in the server's process
                self._sizes.note_load(model, max(own, grown))
            if usage.total <= budget:
                if self._budgets.evict_ahead:
                    self._admission.evict_ahead(usage)
                return
            fits = self._admission.evict_excess(usage, f"'{model.target_model}' needs more memory than was free")
            if not await self._admission.an_unload_ends() and not fits:
                busy = any(candidate.loaded and candidate.in_use for candidate in self._models.values())
                await self._unload(model)
                raise faults.not_enough_room(model.target_model, "memory", usage.total, budget, busy)

    async def _load_despite_507(self, model: Model, api: TritonApi, load: Load[Model]) -> float:
        folder, server = self._disk.url_to_load(model.hash), self._container.server
        name = model.target_model
        if len(ensembles := ensembles_in(folder)) > 1:
            listed = f"{len(ensembles)} ensembles ({', '.join(ensembles)})"
            text = f"the archive '{name}' has {listed}: Triton serves whichever the folder lists last"
            self._report.warning(name, text, "put each into an archive of its own")
        while True:
            try:
                async with self._calls.call(model, load.alone) as call:
                    log_start = self._container.log_size()
                    began = time.monotonic()
                    await self._request_load(model, api, log_start)
            except ContainerAnswered as answer:
                why = f"the container answered {answer.status} to loading '{name}'"
                if answer.status == faults.OUT_OF_RESOURCES and await self.evict(why):
                    continue
                if await self._container.has_processes(model.hash):
                    kept = f"steps of '{name}' that did load keep their memory"
                    text = f"{kept}: here and on AWS, Triton has no name to unload them by"
                    self._report.warning(name, text, "fix the archive; the next model of this name replaces them")
                reasons = await asyncio.to_thread(server.reasons, log_start)
                raise faults.not_loaded(name, answer.status, answer.message, reasons, folder, server.python) from None
            except ContainerDied:
                await self._container.kill(api, EXIT_SECONDS)  # otherwise the next load would be sent to it
                # What ran beside it may have been the cause.
                if call.beside or not await asyncio.to_thread(server.began_to_load, log_start):
                    raise
                reasons = await asyncio.to_thread(server.reasons, log_start)
                raise faults.died_while_loading(name, reasons) from None
            except _NeverLoaded as error:
                self._container.stuck = True  # its thread stays
                stuck = [load for load in self._stuck if load.api is api]
                self._stuck = [*stuck, _StuckLoad(name, api, _content(folder), str(error))]
                if len(self._stuck) >= min(_MOST_STUCK, server.command.load_threads - 1):
                    await self._container.kill(api)
                raise faults.never_loaded(name, str(error)) from None
            except TimeoutError:
                raise faults.load_timed_out(name, self._budgets.load_seconds, api.closed) from None
            return time.monotonic() - began

    def taken(self, target_model: str) -> int:
        """Return how many ids of the model the present server has for loads that it will never end, and for models
        that were abandoned: it takes the archive by another id and name only."""
        held = [(load.target_model, load.api) for load in self._stuck] + [
            (name, api) for name, api, _ in self._abandoned
        ]
        return sum(name == target_model and not api.closed for name, api in held)

    async def abandon(self, model: Model) -> None:
        """Give up a loaded model of which a process has ended: once a request has met that, Triton never ends to
        unload it. What is left of its processes is ended, and it gets another id."""
        assert model.api is not None, "it is loaded"
        self._abandoned = [known for known in self._abandoned if not known[1].closed]
        self._abandoned.append((model.target_model, model.api, model.hash))
        await self._container.end_steps(model.hash)
        model.state, model.broken = ModelState.ON_DISK, ""
        number, ids = self.taken(model.target_model), {hash for *_, hash in self._abandoned}
        while (renewed := self._make(model.target_model, number)).hash in ids:  # it had this one before a restart
            number += 1
        self._disk.rename(model, renewed.hash)
        model.alias, model.invoke_path = renewed.alias, renewed.invoke_path
        self._report.gone(model.target_model)
        self._report_count()

    def _refuse_stuck(self, model: Model, api: TritonApi) -> None:
        """Raise ModelError for an archive whose load the server has not ended."""
        for stuck in self._stuck:
            same = (stuck.api, stuck.target_model) == (api, model.target_model)
            if same and stuck.content == _content(self._disk.url_to_load(model.hash)):
                raise faults.never_loaded(model.target_model, stuck.reason)

    async def _request_load(self, model: Model, api: TritonApi, log_start: int) -> None:
        """Raises ContainerAnswered, ContainerDied, _NeverLoaded, or TimeoutError when the load has been ended."""
        folder, server = self._disk.url_to_load(model.hash), self._container.server
        load = asyncio.create_task(api.load(model.hash, folder, model.name_in_container))
        limit = time.monotonic() + self._budgets.load_seconds
        seen = 0.0  # when a process of the model was last there
        try:
            while (remaining := limit - time.monotonic()) > 0:
                await asyncio.wait([load], timeout=min(remaining, _LOOK_SECONDS))
                if load.done():
                    break
                if not seen:  # before its first process, Triton may unpack an environment for long
                    seen = math.inf if self._unpacks(folder) else time.monotonic()
                if reason := await asyncio.to_thread(server.stuck_load, log_start, folder):
                    raise _NeverLoaded(reason)
                if await self._container.has_processes(model.hash):
                    seen = time.monotonic()
                elif time.monotonic() - seen > _NO_STUB_SECONDS:
                    raise _NeverLoaded(_STUB_KILLED)
            else:
                await self._container.end_steps(model.hash)
                await asyncio.wait([load], timeout=_CANCEL_SECONDS)
                if not load.done():
                    await self._container.kill(api)  # there is no other way to cancel the load
                if not load.done() or load.exception():
                    raise TimeoutError
            await load
        except asyncio.CancelledError:
            self._container.stuck = True
            raise
        finally:
            load.cancel()

    def _unpacks(self, folder: Path) -> bool:
        return not self._container.has_stubs or any(folder.rglob("*.tar.gz"))

    async def _unload(self, model: Model, evicted: str = "") -> None:
        """Unload, and wait until the memory is freed; ``evicted``: for what. A container that cannot is restarted."""
        api, name = model.api, model.target_model
        assert api is not None, "only a loaded model is unloaded"
        if model.broken and not api.closed:
            await self.abandon(model)
            return
        model.state = ModelState.UNLOADING
        began = time.monotonic()
        try:
            async with self._calls.call(model), self._container.ending(model.hash) as wait_until_ended:
                async with asyncio.timeout(self._budgets.load_seconds):
                    await api.unload(model.hash, model.name_in_container)
                self._warn_of(model, await wait_until_ended())
        except ContainerDied:
            pass
        except (ContainerAnswered, TimeoutError) as error:
            self._report.warning(name, f"'{name}' could not be unloaded: {error or 'timed out'}")
            await self._container.kill(api)
        finally:
            model.state, model.broken = ModelState.ON_DISK, ""
        self._report.metric("ModelUnloadingTime", (time.monotonic() - began) * 1e6, name)
        self._report.gone(name)
        text = f"{name} is unloaded"
        self._report.event("model-evicted" if evicted else "model-unloaded", f"{text}: {evicted}" if evicted else text)
        self._report_count()

    def _warn_of(self, model: Model, leftovers: Left) -> None:
        name = model.target_model
        if leftovers.stubs:
            self._report.warning(name, f"processes of '{name}' are still running after its unload")
        if leftovers.others:
            started = f"'{name}' had started {leftovers.others} processes that outlived it, and were ended"
            text = f"{started}: AWS's container keeps them, and their memory"
            self._report.warning(name, text, "end them in the model's finalize")

    def _report_count(self) -> None:
        self._report.metric("LoadedModelCount", sum(model.loaded for model in self._models.values()))


def _content(folder: Path) -> frozenset[tuple[str, int, int]]:
    """The files below ``folder`` with their sizes and times, by which a corrected archive differs."""
    files = ((str(path.relative_to(folder)), path.stat()) for path in folder.rglob("*") if path.is_file())
    return frozenset((path, facts.st_size, facts.st_mtime_ns) for path, facts in files)
