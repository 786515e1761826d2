"""The models of one tritonserver, from their first request to their deletion.

    requested -> downloaded -> unpacked -> loaded -> invoked -> idle -> unloaded -> on disk -> deleted

One task downloads and loads a model, however many requests wait for it, and continues when a request gives up. As on
AWS, a copy on the disk is used as long as it is there, even after another object is uploaded under its key. An archive
that failed to load is deleted, so that a corrected upload is downloaded.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping

from triton_ensembles.hosting import errors, faults
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container
from triton_ensembles.hosting.disk import Disk
from triton_ensembles.hosting.disk_cache import DiskCache
from triton_ensembles.hosting.memory_cache import MemoryCache
from triton_ensembles.hosting.model import ColdStart, Model
from triton_ensembles.hosting.model_processes import Usage
from triton_ensembles.hosting.report import Report
from triton_ensembles.sagemaker.model_state import ModelState

_POLL_SECONDS = 0.05
_MOST_HEALED = 20  # times that a model is loaded again, since Triton keeps something of each


class ModelCache:
    """All models of one tritonserver: loaded, being loaded or on its disk.

    Args:
        make: the model of a name, where the server still has so many others of that name, and always will.
    """

    def __init__(
        self, make: Callable[[str, int], Model], container: Container, disk: Disk, budgets: Budgets, report: Report
    ) -> None:
        self._make = make
        self._budgets = budgets
        self._report = report
        self._models: dict[str, Model] = {}
        self._memory = MemoryCache(make, container, self._models, disk, budgets, report)
        self._disk = DiskCache(disk, self._models, self._memory, budgets, report)
        self._tasks: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        """Nothing to do: models are downloaded when they are requested."""

    def state(self, target_model: str | None) -> ModelState | None:
        assert target_model is not None  # Variant has checked it
        model = self._models.get(target_model)
        return model.state if model else None

    async def acquire(self, target_model: str | None) -> Model:
        """The model, loaded and counted as in use until :meth:`release`.

        Raises ModelNotReadyException after ``invoke_seconds`` (the load continues), or HostingError when it fails.
        """
        assert target_model is not None
        model = self._models.get(target_model)
        if model is None:
            model = self._make(target_model, self._memory.taken(target_model))
            self._models[target_model] = model
        model.begin()
        hit = self._answers(model)
        self._report.metric("ModelCacheHit", int(hit), target_model)
        if hit:
            model.hits += 1
            return model
        model.misses += 1
        began = time.monotonic()
        try:
            await self._wait_for(model)
        except BaseException:
            self.release(model)
            raise
        finally:
            waited = (time.monotonic() - began) * 1e6
            self._report.metric("ModelLoadingWaitTime", waited, target_model)
            if not model.loaded and model.load_task is None:
                self._report.gone(target_model)
        return model

    def release(self, model: Model) -> None:
        """To be called when the request that acquired the model has been answered or canceled."""
        model.in_use -= 1
        model.touch()
        if model.in_use == 0 and model.loaded:
            self._memory.became_idle()
            if not model.kept:
                self._spawn(self._retire(model))

    async def unload(self, target_model: str) -> None:
        """Unload the model, as soon as no request uses it."""
        model = self._models.get(target_model)
        while model is not None and (model.in_use or model.load_task is not None):
            await asyncio.sleep(_POLL_SECONDS)
        if model is not None:
            await self._memory.retire(model)

    def discard(self, target_model: str) -> None:
        """Unload the model and delete it from the disk, as soon as no request uses it."""
        if model := self._models.get(target_model):
            model.kept = False
            if not model.in_use:
                self._spawn(self._retire(model))

    async def evict_other(self, model: Model) -> bool:
        return await self._memory.evict("the container answered 507 to an invocation", spare=model)

    def loads(self) -> dict[Model, int]:
        """The number of loads of each model that is loaded now."""
        return {model: model.loads for model in self._models.values() if model.loaded}

    def note_usage(self, usage: Usage, loads: Mapping[Model, int]) -> None:
        self._memory.note_usage(usage, loads)

    def container_started(self) -> None:
        """Nothing to do: models are loaded again when they are requested."""

    def container_died(self) -> None:
        self._memory.forget()

    async def count_environments(self) -> None:
        """Nothing to do: they are counted after each load."""

    async def close(self) -> None:
        """Cancel all downloads, loads and unloads."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._memory.close()

    @property
    def count(self) -> int:
        """The number of models, loaded or not."""
        return len(self._models)

    def all(self) -> list[Model]:
        """The most recently used first."""
        return sorted(self._models.values(), key=lambda model: model.last_use, reverse=True)

    def _answers(self, model: Model) -> bool:
        heals = model.heals and self._memory.taken(model.target_model) < _MOST_HEALED
        return model.loaded and not (model.broken and heals)

    async def _wait_for(self, model: Model) -> None:
        deadline = time.monotonic() + self._budgets.invoke_seconds
        while not self._answers(model):
            task = model.load_task or self._spawn(self._fetch_and_load(model))
            model.load_task = task
            await asyncio.wait([task], timeout=max(0.0, deadline - time.monotonic()))
            if not task.done():
                not_ready = f"model '{model.target_model}' is not ready after {self._budgets.invoke_seconds:.0f} s"
                cure = f"try again: the load continues, for up to {self._budgets.load_seconds:.0f} s"
                raise errors.ModelNotReadyException(f"{not_ready}: it is {model.condition}", cure=cure)
            if task.cancelled():
                raise errors.ServiceUnavailable("the endpoint is stopping")
            if error := task.exception():
                raise error.with_traceback(None)

    async def _fetch_and_load(self, model: Model) -> None:
        began = time.monotonic()
        download = extract = 0.0
        model.waits_for = ""
        try:
            if model.loaded:
                await self._memory.abandon(model)
            if model.state is ModelState.WAITING:
                download, extract = await self._disk.fetch(model, model.url)
            load = await self._memory.load(model)
        except errors.HostingError as error:
            self._report.error(model.target_model, error)
            self._report.gone(model.target_model)
            refused = isinstance(error, errors.ModelError) and error.original_status != faults.OUT_OF_RESOURCES
            if refused and model.state is ModelState.ON_DISK:
                await self._disk.delete(model)
            raise
        finally:
            model.load_task = None
            if model.state is ModelState.WAITING and self._models.get(model.target_model) is model:
                del self._models[model.target_model]
        wait = time.monotonic() - began - download - extract - load
        model.cold_start = cold = ColdStart(max(0.0, wait), download, extract, load, model.waits_for)
        self._report.event("model-loaded", f"{model.target_model} is loaded, {cold.total:.2f} s after it was requested")

    async def _retire(self, model: Model) -> None:
        """Unload and delete a model that no request uses."""
        await self._memory.retire(model)
        if not model.in_use and model.idle_on_disk:
            await self._disk.delete(model)

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # mark it as retrieved: perhaps no request waits for this model any more
