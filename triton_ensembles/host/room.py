"""The models of a catalog by name: loaded when they are requested, swapped when they change, refused when they fail."""

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from typing import Any

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import nearest
from triton_ensembles.host.catalog import Catalog, Entry, Listing
from triton_ensembles.host.names import in_words
from triton_ensembles.host.report import HostReport
from triton_ensembles.hosting.budgets import Budgets
from triton_ensembles.hosting.container import Container
from triton_ensembles.hosting.disk import Disk, model_hash
from triton_ensembles.hosting.errors import (
    ArchiveMissing,
    ArchiveRefused,
    HostingError,
    LoadFailed,
    ModelNotReadyException,
)
from triton_ensembles.hosting.faults import ENDED_STUB
from triton_ensembles.hosting.instance import Instance
from triton_ensembles.hosting.model import Model
from triton_ensembles.hosting.model_cache import ModelCache
from triton_ensembles.hosting.request import Invocation, Reply
from triton_ensembles.hosting.status import InstanceStatus
from triton_ensembles.sagemaker.model_state import ModelState

WAITS = "loaded when requested"
_LOOK_SECONDS = 2.0  # between looks at the catalog, at least
_LOOK_FACTOR = 20  # times what the last look took
_AGAIN_SECONDS = 0.5  # between looks for names that nobody has, at least
_AGAIN_FACTOR = 5  # as _LOOK_FACTOR


class Room:
    """Answers requests for the models of a catalog, by their names.

    Args:
        pinned: models that are loaded first and never unloaded, by name, with what asks for that, such as "--pin a".
    """

    def __init__(
        self,
        catalog: Catalog,
        container: Container,
        disk: Disk,
        budgets: Budgets,
        report: HostReport,
        pinned: Mapping[str, str],
    ) -> None:
        self._catalog = catalog
        self._report = report
        self._cache = ModelCache(self._model, container, disk, budgets, report)
        self._instance = Instance(0, container, self._cache, disk, budgets, report)
        self._pinned_by = pinned
        self._pinned: dict[str, Model | None] = dict.fromkeys(pinned)  # what is held, by name
        self._listing = Listing()
        self._serving: dict[str, Entry] = {}
        self._urls: dict[str, str] = {}  # by key
        self._failed: dict[str, HostingError] = {}  # by key: as long as its archive stays the same
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by key: swaps and loads ahead of requests
        self._looking = asyncio.Lock()
        self._looked_at = self._looked = 0.0  # when, and how long it took
        self._lost = ""

    async def start(self) -> None:
        """Start the server and load what is pinned. Raises EnsembleError."""
        await self._look()
        for name in self._pinned:
            if name not in self._serving:
                raise EnsembleError(f"{self._pinned_by[name]}: {self.unknown(name)}")
        await self._instance.start()
        for name in self._pinned:
            await self._hold(name)

    async def stop(self, seconds: float) -> None:
        """Let running requests end, for at most ``seconds``, and stop the server."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._instance.in_flight:
                    await asyncio.sleep(0.05)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._instance.stop()

    async def watch(self) -> None:
        """Look at the catalog and at the server's memory for ever."""
        while True:
            await asyncio.sleep(max(_LOOK_SECONDS, _LOOK_FACTOR * self._looked))
            try:
                await self._instance.measure()
                await self._look()
                self._lost = ""
            except Exception as error:  # the next look may succeed; what is known is served on
                if str(error) != self._lost:
                    self._lost = str(error)
                    self._report.warning("", f"{error}; the models that are known stay as they are")
            for model in self._pinned.values():
                if model and (model.broken or not model.loaded):  # a process, or the server, has ended
                    self._begin(model.target_model, self._load_again(model.target_model))

    @property
    def ready(self) -> bool:
        """Return whether the server runs and what is pinned is loaded."""
        return self._instance.ready and all(model and model.loaded for model in self._pinned.values())

    def faults(self) -> dict[str, str]:
        """Why pinned models cannot answer, by name: they are not loaded, or a process of theirs has ended."""
        broken = {name: model.broken if model and model.loaded else "not ready" for name, model in self._pinned.items()}
        return {name: fault for name, fault in broken.items() if fault}

    def status(self) -> InstanceStatus:
        return self._instance.status()

    async def find(self, name: str) -> Entry:
        """The model's entry, also of one that has just come. Raises ArchiveMissing, or why it could not be loaded."""
        if name not in self._serving:
            await self._look_for(name)
        if name not in self._serving:
            raise ArchiveMissing(self.unknown(name))
        entry = self._serving[name]
        if error := self._failed.get(entry.key):
            raise error
        return entry

    async def answer(self, entry: Entry, request: Invocation) -> Reply:
        """The answer of the model, which is loaded before. Raises HostingError."""
        try:
            return await self._instance.invoke(request._replace(target_model=entry.key))
        except HostingError as error:
            self._note(entry.key, error)
            raise

    async def load(self, name: str) -> None:
        """Load the model, also one that has failed before. Raises HostingError."""
        with contextlib.suppress(HostingError):
            await self.find(name)
        if entry := self._serving.get(name):
            self._failed.pop(entry.key, None)
        entry = await self.find(name)
        self._cache.release(await self._acquire(entry.key))

    async def unload(self, name: str) -> None:
        """Unload the model as soon as no request uses it; the next request loads it again. Raises HostingError."""
        await self._cache.unload((await self.find(name)).key)

    def is_pinned(self, name: str) -> bool:
        return name in self._pinned

    def index(self) -> Iterator[dict[str, str]]:
        """The models as KServe's repository index has them; with a reason, those that are not loaded."""
        for name, entry in sorted(self._serving.items()):
            state = self._cache.state(entry.key)
            if state is ModelState.LOADED:
                yield {"name": name, "version": "1", "state": "READY"}
            elif error := self._failed.get(entry.key):
                yield {"name": name, "state": "UNAVAILABLE", "reason": in_words(error.message, name)}
            else:
                loading = {None: "UNAVAILABLE", ModelState.ON_DISK: "UNAVAILABLE", ModelState.UNLOADING: "UNLOADING"}
                yield {"name": name, "state": loading.get(state, "LOADING"), "reason": WAITS}
        for name, reason in sorted(self._listing.refused.items()):
            yield {"name": name, "state": "UNAVAILABLE", "reason": reason}

    def models(self) -> dict[str, Model]:
        """The models that are loaded, on the disk or on their way, the most recently used first, by name."""
        names = {entry.key: name for name, entry in self._serving.items()}
        return {names[model.target_model]: model for model in self._cache.all() if model.target_model in names}

    def loaded(self) -> list[str]:
        """The names of the models that are loaded, the most recently used first."""
        return [name for name, model in self.models().items() if model.loaded]

    @property
    def refused(self) -> Mapping[str, str]:
        """Why others are no models, by name."""
        return self._listing.refused

    def unknown(self, name: str) -> str:
        """The sentence for a name that no model has."""
        if reason := self._listing.refused.get(name):
            return reason
        near = nearest(name, self._serving)
        return f"there is no model '{name[:200]}'" + (f"; did you mean '{near}'?" if near else "")

    def preload(self, names: Iterable[str]) -> None:
        """Load these models one after the other, in the background. Names that no model has are left out."""

        async def load_all() -> None:
            for name in names:
                with contextlib.suppress(HostingError):
                    await self.load(name)

        self._begin("", load_all())

    def _model(self, key: str, taken: int) -> Model:
        alias = f"{key}.{taken + 1}" if taken else ""
        return Model(
            key, model_hash("", key, taken), f"/v2/models/{alias or key}", self._urls[key], alias=alias, heals=True
        )

    async def _hold(self, name: str) -> None:
        try:
            self._pinned[name] = await self._acquire(self._serving[name].key)  # a model in use is not unloaded
        except HostingError as error:
            reason = in_words(error.message, name)
            raise EnsembleError(f"{self._pinned_by[name]}: {reason}", cure=error.cure) from None

    async def _acquire(self, key: str) -> Model:
        """The model, loaded and in use, however long that takes."""
        while True:
            try:
                return await self._cache.acquire(key)
            except ModelNotReadyException:
                continue
            except HostingError as error:
                self._note(key, error)
                raise

    async def _load_again(self, key: str) -> None:
        self._cache.release(await self._acquire(key))

    def _note(self, key: str, error: HostingError) -> None:
        if isinstance(error, LoadFailed) and (not error.original_status or ENDED_STUB in error.message):
            return  # Triton may load it the next time: a process was killed, or memory was short
        if isinstance(error, ArchiveRefused | LoadFailed):
            self._failed[key] = error

    async def _look_for(self, name: str) -> None:
        """Look for a model that may have just come: once for all requests of the next moment."""
        asked = time.monotonic()
        async with self._looking:
            if name in self._serving or self._looked_at >= asked:
                return
            pause = max(_AGAIN_SECONDS, _AGAIN_FACTOR * self._looked)
            await asyncio.sleep(max(0.0, self._looked_at + pause - asked))
            with contextlib.suppress(EnsembleError):
                await self._see()

    async def _look(self) -> None:
        async with self._looking:
            await self._see()

    async def _see(self) -> None:
        began = time.monotonic()
        self._listing = await self._catalog.list()
        self._looked_at, self._looked = began, time.monotonic() - began
        entries = self._listing.entries
        self._urls |= {entry.key: entry.url for entry in entries.values()}
        for name in [name for name in self._serving if name not in entries]:
            self._cache.discard(self._serving.pop(name).key)
        for name, entry in entries.items():
            old = self._serving.get(name)
            if old is None or self._cache.state(old.key) is None or old.key in self._failed:
                self._serving[name] = entry
            elif old.key != entry.key and entry.key not in self._failed:
                self._begin(entry.key, self._swap(old, entry))
        kept = {entry.key for entry in (*entries.values(), *self._serving.values())}
        self._failed = {key: error for key, error in self._failed.items() if key in kept}
        self._urls = {key: url for key, url in self._urls.items() if key in kept}

    async def _swap(self, old: Entry, new: Entry) -> None:
        """Load what has come in the place of a model, and only then have it answer requests."""
        try:
            model = await self._acquire(new.key)
        except HostingError as error:
            self._failed.setdefault(new.key, error)
            reason = in_words(error.message, new.name)
            self._report.warning(new.name, f"{new.name} has changed and does not load, so the old one stays: {reason}")
            return
        self._serving[new.name] = new
        held = self._pinned.get(new.name)
        if held:
            self._pinned[new.name] = model
        self._cache.release(held or model)
        self._cache.discard(old.key)

    def _begin(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        """Do it in the background, unless the same is under way."""
        if key in self._tasks:
            work.close()
            return
        self._tasks[key] = task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._tasks.pop(key, None))
