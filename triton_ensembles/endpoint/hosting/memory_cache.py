"""The models in the container's memory: loaded, unloaded, and evicted when there is not enough memory."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from triton_ensembles.endpoint.hosting import faults
from triton_ensembles.endpoint.hosting.container_process import Container
from triton_ensembles.endpoint.hosting.disk import Disk
from triton_ensembles.endpoint.hosting.model import Model, ModelState
from triton_ensembles.endpoint.hosting.policy import least_recently_used
from triton_ensembles.endpoint.hosting.report import Report
from triton_ensembles.endpoint.hosting.spec import Budgets
from triton_ensembles.endpoint.hosting.triton_api import ContainerAnswered, ContainerDied, TritonApi
from triton_ensembles.triton.sagemaker_contract import ENSEMBLE
from triton_ensembles.triton.server_process import EXIT_SECONDS

_SERVERS = 2  # on which a load is tried when the first one dies for another reason


class MemoryCache:
    """Loads and unloads one model at a time: doing both at once sometimes crashes the Python backend of 2.51.0.

    Attributes:
        after_load: awaited when the container has loaded a model, before it is used. It may raise HostingError to have
            it unloaded again.
    """

    def __init__(
        self, container: Container, models: Mapping[str, Model], disk: Disk, budgets: Budgets, report: Report
    ) -> None:
        self._container = container
        self._models = models
        self._disk = disk
        self._budgets = budgets
        self._report = report
        self._one_at_a_time = asyncio.Lock()
        self.after_load: Callable[[Model], Awaitable[None]]

    async def load(self, model: Model) -> float:
        """Load a model that is on disk, evicting others as necessary. Returns the seconds of the load itself.

        Raises:
            HostingError: the container refuses it, dies while loading it, or does not have enough memory.
        """
        async with self._one_at_a_time:
            for _ in range(_SERVERS):
                with contextlib.suppress(ContainerDied):
                    return await self._load(model)
            raise faults.died_before_loading(model.target_model)

    async def retire(self, model: Model) -> bool:
        """Unload the model unless it is in use. Returns whether it was unloaded."""
        async with self._one_at_a_time:
            if model.in_use or not model.loaded:
                return False
            await self._unload(model)
            return True

    async def evict(self, why: str, spare: Model | None = None) -> bool:
        """Evict the least recently used model, but not ``spare``. Returns False when every model is in use."""
        async with self._one_at_a_time:
            return await self._evict(why, spare)

    async def evict_while_loading(self, why: str) -> bool:
        """As :meth:`evict`, from ``after_load``."""
        return await self._evict(why)

    async def keep_within_budget(self, used: int) -> None:
        """Evict idle models while the server exceeds its budget because it has grown since they were loaded."""
        if used > self._budgets.memory_bytes and not self._one_at_a_time.locked():
            async with self._one_at_a_time:
                while await self._container.memory() > self._budgets.memory_bytes:
                    if not await self._evict("the server has outgrown its memory budget"):
                        return

    def forget(self) -> None:
        """The server has died: loaded models are now on disk only. A load or unload in progress notices that itself."""
        for model in self._models.values():
            if model.loaded:
                model.state = ModelState.ON_DISK
        self._report_count()

    async def _load(self, model: Model) -> float:
        """Raises ContainerDied when the server has ended for another reason than this load."""
        model.api = api = await self._container.api()
        before = await self._make_room(model)
        model.state = ModelState.LOADING
        try:
            try:
                seconds = await self._load_despite_507(model, api)
            finally:  # Triton keeps what it has unpacked, whatever became of the model
                self._disk.environment_bytes = await self._container.environment_bytes()
            taken = await self._container.memory() - before
            if api.closed:
                raise ContainerDied
            model.load_bytes = max(0, taken)
            await self._stay_within_budget(model)
            await self._settle(model)
            if api.closed:
                raise ContainerDied
        except BaseException:
            model.state = ModelState.ON_DISK
            raise
        model.state = ModelState.LOADED
        model.loads += 1
        self._report.metric("ModelLoadingTime", seconds * 1e6, model.target_model)
        self._report_count()
        return seconds

    async def _make_room(self, model: Model) -> int:
        """Evict until the model should fit, judging by its last load or its size on disk. Returns the memory in use."""
        need = model.load_bytes or model.disk_bytes
        while (used := await self._container.memory()) + need > self._budgets.memory_bytes:
            if not await self._evict(f"'{model.target_model}' needs the memory"):
                break  # it was an estimate: the load will show
        return used

    async def _stay_within_budget(self, model: Model) -> None:
        budget = self._budgets.memory_bytes
        while (used := await self._container.memory()) > budget:
            if not await self._evict(f"'{model.target_model}' needs more memory than was free"):
                busy = any(other.loaded and other.in_use for other in self._models.values())
                await self._unload(model)
                raise faults.not_enough_room(model.target_model, "memory", used, budget, busy)

    async def _settle(self, model: Model) -> None:
        try:
            await self.after_load(model)
        except BaseException:
            await self._unload(model)
            raise

    async def _load_despite_507(self, model: Model, api: TritonApi) -> float:
        folder, server = self._disk.url_to_load(model.hash), self._container.server
        if len(names := _ensembles_in(folder)) > 1:
            self._report.warning(
                model.target_model,
                f"the archive '{model.target_model}' has {len(names)} ensembles ({', '.join(names)}): Triton serves "
                "whichever the folder lists last",
                "put each into an archive of its own",
            )
        while True:
            log_start = self._container.log_size()
            began = time.monotonic()
            try:
                await self._request_load(model, api)
            except ContainerAnswered as answer:
                why = f"the container answered {answer.status} to loading '{model.target_model}'"
                if answer.status == faults.OUT_OF_RESOURCES and await self._evict(why):
                    continue
                if await self._container.has_processes(model.hash):
                    self._report.warning(
                        model.target_model,
                        f"steps of '{model.target_model}' that did load keep their memory: here and on AWS, Triton has "
                        "no name to unload them by",
                        "fix the archive; the next model of this name replaces them",
                    )
                reasons = await asyncio.to_thread(server.reasons, log_start)
                raise faults.not_loaded(model.target_model, answer.status, answer.message, reasons, folder) from None
            except ContainerDied:
                await self._container.kill(api, EXIT_SECONDS)  # otherwise the next load would be sent to it
                if not await asyncio.to_thread(server.began_to_load, log_start):
                    raise
                reasons = await asyncio.to_thread(server.reasons, log_start)
                raise faults.died_while_loading(model.target_model, reasons) from None
            except TimeoutError:
                await self._container.kill(api)  # there is no other way to cancel the load
                raise faults.load_timed_out(model.target_model, self._budgets.load_seconds) from None
            return time.monotonic() - began

    async def _request_load(self, model: Model, api: TritonApi) -> None:
        try:
            async with asyncio.timeout(self._budgets.load_seconds):
                await api.load(model.hash, self._disk.url_to_load(model.hash), model.target_model)
        except asyncio.CancelledError:
            self._container.stuck = True
            raise

    async def _evict(self, why: str, spare: Model | None = None) -> bool:
        loaded = (model for model in self._models.values() if model.loaded and model is not spare)
        victim = least_recently_used(loaded)
        if victim is None:
            return False
        await self._unload(victim)
        self._report.event("model-evicted", f"{victim.target_model} is unloaded: {why}")
        return True

    async def _unload(self, model: Model) -> None:
        """Unload, and wait until the memory is freed. A container that cannot unload is restarted."""
        api = model.api
        assert api is not None, "only a loaded model is unloaded"
        model.state = ModelState.UNLOADING
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._budgets.load_seconds):
                await api.unload(model.hash, model.target_model)
            if not await self._container.wait_until_gone(model.hash):
                self._report.warning(
                    model.target_model, f"processes of '{model.target_model}' are still running after its unload"
                )
        except ContainerDied:
            pass
        except (ContainerAnswered, TimeoutError) as error:
            self._report.warning(
                model.target_model, f"'{model.target_model}' could not be unloaded: {error or 'timed out'}"
            )
            await self._container.kill(api)
        finally:
            model.state = ModelState.ON_DISK
        self._report.metric("ModelUnloadingTime", (time.monotonic() - began) * 1e6, model.target_model)
        self._report.event("model-unloaded", f"{model.target_model} is unloaded")
        self._report_count()

    def _report_count(self) -> None:
        count = sum(model.loaded for model in self._models.values())
        self._report.metric("LoadedModelCount", count)


def _ensembles_in(repository: Path) -> list[str]:
    """The folders that Triton's SageMaker front end takes for ensembles, sorted. It serves one of them."""
    configs = sorted(repository.glob("*/config.pbtxt"))
    return [config.parent.name for config in configs if ENSEMBLE.search(config.read_text(errors="replace"))]
