"""The models on an instance's disk: downloaded, kept while there is space, deleted."""

import asyncio
from functools import partial

from triton_ensembles.hosting import faults
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.disk import Disk, NoDiskSpace
from triton_ensembles.hosting.memory_cache import MemoryCache
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.report import Report
from triton_ensembles.sagemaker.eviction import least_recently_used


class DiskCache:
    """Deletes unloaded models first when the disk is full, then unloads idle ones so that they can be deleted."""

    def __init__(
        self, disk: Disk, models: dict[str, Model], memory: MemoryCache, budgets: Budgets, report: Report
    ) -> None:
        self._disk = disk
        self._models = models
        self._memory = memory
        self._budgets = budgets
        self._report = report
        memory.after_load = self._keep_within_budget

    async def fetch(self, model: Model, url: str) -> tuple[float, float]:
        """Download and unpack a model that is WAITING: the seconds of both. It is ON_DISK then.

        After a HostingError (it cannot be downloaded or unpacked, or there is not enough space) it is WAITING again.
        """
        try:
            async with asyncio.timeout(self._budgets.load_seconds):
                while True:
                    try:
                        download, extract = await self._disk.fetch(model, url, partial(self._make_room, model))
                        break
                    except NoDiskSpace as full:
                        if not await self._evict(model, str(full)):
                            in_use = self._others_in_use(model)
                            raise faults.file_system_full(model.target_model, str(full), in_use) from None
        except BaseException as error:
            raise faults.not_on_disk(url, error) or error from None
        self._report.metric("ModelDownloadingTime", download * 1e6, model.target_model)
        return download, extract

    async def delete(self, model: Model) -> None:
        """Delete an unloaded model. A new download of it may begin at once."""
        if self._models.get(model.target_model) is model:
            del self._models[model.target_model]
        await self._disk.delete(model)

    async def _make_room(self, model: Model, size: int) -> None:
        while self._disk.free < size:
            model.waits_for = "disk space"
            if not await self._evict(model, f"'{model.target_model}' needs the space"):
                raise self._not_enough_room(model, size)

    async def _keep_within_budget(self, newcomer: Model) -> None:
        """Make room for the environments that the container has unpacked for a model that it has just loaded."""
        while self._disk.free < 0:
            if not await self._evict(newcomer, "environments in /tmp need the space"):
                raise self._not_enough_room(newcomer, 0)

    async def _evict(self, newcomer: Model, why: str) -> bool:
        candidates = [candidate for candidate in self._models.values() if candidate is not newcomer]
        victim = least_recently_used(candidate for candidate in candidates if candidate.idle_on_disk)
        if victim is not None:
            await self.delete(victim)
            self._report.event("model-deleted", f"{victim.target_model} is deleted from the disk: {why}")
            return True
        return await self._memory.evict(f"{why} on the disk")  # the next round can delete it

    def _not_enough_room(self, model: Model, size: int) -> Exception:
        return self._disk.not_enough_room(model, size, self._others_in_use(model))

    def _others_in_use(self, model: Model) -> bool:
        neighbors = (neighbor for neighbor in self._models.values() if neighbor is not model)
        return any(neighbor.disk_bytes or neighbor.load_task for neighbor in neighbors)
