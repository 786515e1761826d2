"""Measures the profile of one archive, in two servers one after the other.

The first loads the archive, then clones of it under names of their own, as a multi-model endpoint would load them: from
files of their own, each with a first few requests. The memory of 1, 4 and 16 of them says what one more takes, which
is less than what the first one does. The last one gets its largest batch, some of whose memory it may keep. They are
unloaded at the end. The second has the archive alone, under load.
"""

import asyncio
import os
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Literal

from triton_ensembles.building.variants.table import clone_names
from triton_ensembles.building.variants.written import clone
from triton_ensembles.endpoint.local_container import LocalContainer, NotLoadedError
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.processes import memory_parts
from triton_ensembles.ground.progress import Progress
from triton_ensembles.measuring.perf.facts import machine
from triton_ensembles.measuring.profiling.load import Load
from triton_ensembles.measuring.profiling.measured_answers import RequestSender
from triton_ensembles.measuring.profiling.profile import Answers, Loaded, Machine, Memory, Profile, Versions
from triton_ensembles.project.examples.folder import Examples
from triton_ensembles.triton.pip_server import VERSION, server_python
from triton_ensembles.version import __version__

_FIRST_ANSWERS = 4  # copies
_LAST = 8  # copies, whose loads and unloads count: while the others are loaded
_MEMORY_LEFT = 1 << 30  # bytes for the rest of the machine
_DISK_LEFT = 2 << 30
_MARGIN = 1.25  # a copy may take this much more than the one before
_GIVEN_BACK_SECONDS = 12.0  # until an idle fused ensemble has done so (runtime/fused/idle_memory.py)
_SETTLE_SECONDS = 0.3  # arenas and shared memory that a request has used are given back
_CURE = f"make it load first: {COMMAND} check and {COMMAND} serve take the same argument"


@dataclass(frozen=True)
class Subject:
    """An archive to be measured.

    Attributes:
        archive: the .tar.gz.
        ensemble: the name of what it serves.
        form: "drawn" or "fused".
        python: of its steps, such as "3.10"; "" for that of the server on this machine.
        completes: whether Triton has to complete its configs.
        examples: the example requests.
    """

    archive: Path
    ensemble: str
    form: Literal["drawn", "fused"]
    python: str
    completes: bool
    examples: Examples


@dataclass(frozen=True)
class _Cost:
    """The cost of one step of a cold start: its duration, and the processor time of all that works on it (seconds)."""

    seconds: float
    core_seconds: float


@dataclass
class _Copies:
    """Measurements of the first server."""

    unpacked_bytes: int = 0
    temporary_bytes: int = 0
    server: Memory = field(default_factory=lambda: Memory(0, 0))
    loaded: list[Loaded] = field(default_factory=list)
    kept_bytes: int | None = None
    unpacks: list[_Cost] = field(default_factory=list)
    loads: list[_Cost] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    unloads: list[float] = field(default_factory=list)


def measure(subject: Subject, scratch: Path, load: Load, progress: Progress) -> Profile:
    """Measure ``subject`` on this machine.

    Args:
        scratch: an empty folder for what is unpacked; the caller removes it.
        load: the copies and the requests. Where the machine has no room for as many copies, the profile ends with
            those that fit.
        progress: is told what takes long.

    Raises:
        EnsembleError: the archive cannot be unpacked, Triton does not load it (its reason), or it answers with errors.
    """
    sha256 = file_digest(subject.archive)
    try:
        seen = asyncio.run(_copies(subject, scratch, load, progress))
        measured = asyncio.run(_answers(subject, scratch, load, seen, progress))
    except NotLoadedError as error:
        raise EnsembleError(error.message, path=subject.archive, cure=_CURE) from error
    except EnsembleError as error:
        if error.path is None:
            error.path = subject.archive
        raise
    return _profile(subject, sha256, seen, *measured)


def _profile(
    subject: Subject, sha256: str, seen: _Copies, rested: Answers, answers: tuple[Answers, ...], beside: Answers | None
) -> Profile:
    facts, memory = machine(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # An endpoint loads and unloads beside many others. The first load brings in what all share, such as the backend's
    # library.
    loads, unloads, firsts = seen.loads[-_LAST:], seen.unloads[:_LAST], seen.firsts[1:] or seen.firsts
    return Profile(
        archive=subject.archive.name,
        sha256=sha256,
        ensemble=subject.ensemble,
        form=subject.form,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        packed_bytes=subject.archive.stat().st_size,
        unpacked_bytes=seen.unpacked_bytes,
        temporary_bytes=seen.temporary_bytes,
        unpack_seconds=median(cost.seconds for cost in seen.unpacks),
        unpack_core_seconds=median(cost.core_seconds for cost in seen.unpacks),
        load_seconds=median(cost.seconds for cost in loads),
        load_core_seconds=median(cost.core_seconds for cost in loads),
        first_seconds=median(firsts),
        unload_seconds=median(unloads) if unloads else 0.0,
        server=seen.server,
        loaded=tuple(seen.loaded),
        kept_bytes=seen.kept_bytes,
        rested=rested,
        answers=answers,
        machine=Machine(facts["processor"] or platform.machine(), facts["cores"], memory),
        versions=Versions(VERSION, __version__, subject.python or server_python()),
        beside=beside,
    )


async def _copies(subject: Subject, scratch: Path, load: Load, progress: Progress) -> _Copies:
    seen, models, counts = _Copies(), list[str](), sorted({1, *load.copies})
    async with _container_for(scratch / "copies", subject.python, completes=subject.completes) as host:
        seen.server = before = await _memory_of(host)
        requests = RequestSender(host, subject.examples, load.user, scratch)
        archives = _archives(subject, scratch, counts[-1])
        while len(models) < counts[-1]:
            if models and (why := _lacks_room(scratch, subject, seen)):
                progress(f"memory is measured with at most {seen.loaded[-1].models} loaded: {why}")
                break
            try:
                archive, target_model = await asyncio.to_thread(next, archives)
                disk_bytes, unpacked = await _unpack(host, archive, target_model)
                loaded = await _load(host, target_model)
                if len(models) < _FIRST_ANSWERS:
                    seen.firsts.append(await asyncio.to_thread(requests.once, target_model))
                await asyncio.to_thread(requests.warm_up, target_model)
            except (EnsembleError, OSError) as error:
                if not models:
                    raise
                progress(f"memory is measured with at most {seen.loaded[-1].models} loaded, for with more: {error}")
                break
            models.append(target_model)
            seen.unpacks.append(unpacked)
            seen.loads.append(loaded)
            after = await _memory_of(host)
            if len(models) == 1:
                seen.unpacked_bytes, seen.temporary_bytes = disk_bytes, await host.temporary_bytes()
            if len(models) in counts:
                anonymous = max(0, after.anonymous_bytes - before.anonymous_bytes)
                memory = Memory(anonymous, max(0, after.mapped_bytes - before.mapped_bytes))
                seen.loaded.append(Loaded(len(models), memory))
                size = memory.bytes / 2**20
                progress(f"{len(models)} loaded: {size:.0f} MiB, each loaded in {loaded.seconds:.2f} s")
        seen.kept_bytes = await _kept(host, models[-1], requests, progress)
        await _unload_all(host, models, seen)
    return seen


async def _kept(host: LocalContainer, model: str, requests: RequestSender, progress: Progress) -> int | None:
    """Bytes that a loaded copy keeps of its largest batch. It is the last one: others may then take what it keeps."""
    before = await _memory_of(host)
    try:
        if (rows := await asyncio.to_thread(requests.largest, model)) == 1:
            return 0
    except EnsembleError as error:
        progress(f"what is kept of the largest batch is not measured: {error}")
        return None
    kept = max(0, (await _memory_of(host, _GIVEN_BACK_SECONDS)).bytes - before.bytes)
    progress(f"after a request of {rows} rows: {kept / 2**20:.0f} MiB more")
    return kept


def _archives(subject: Subject, scratch: Path, count: int) -> Iterator[tuple[Path, str]]:
    """The archive itself, then clones of it, which are written one at a time."""
    yield subject.archive, subject.archive.name
    for path in clone(subject.archive, clone_names("copy", count - 1), scratch / "clones"):
        yield path, path.name
        path.unlink()


async def _unload_all(host: LocalContainer, models: Sequence[str], seen: _Copies) -> None:
    for model in models:
        try:
            seen.unloads.append(await _unload(host, model))
        except EnsembleError:  # the server has ended under a copy too many
            return
        await host.delete(model)


def _lacks_room(scratch: Path, subject: Subject, seen: _Copies) -> str:
    """Why one more copy does not fit; "" when it does. It takes at most as much as the first one."""
    needed, free = round(_MARGIN * seen.loaded[0].memory.bytes) + _MEMORY_LEFT, available_memory()
    if needed > free:
        return f"the next one may need {_gib(needed)} GiB of memory with what is left free, and {_gib(free)} are free"
    needed = seen.unpacked_bytes + 2 * subject.archive.stat().st_size + _DISK_LEFT
    if needed > (free := shutil.disk_usage(scratch).free):
        return f"the next one needs {_gib(needed)} GiB of disk with what is left free, and {_gib(free)} are free"
    return ""


async def _answers(
    subject: Subject, scratch: Path, load: Load, seen: _Copies, progress: Progress
) -> tuple[Answers, tuple[Answers, ...], Answers | None]:
    """Answers to requests that come seldom, and often, and to seldom ones while another copy comes and goes."""
    async with _container_for(scratch / "answers", subject.python, completes=subject.completes) as host:
        model = subject.archive.name
        _, unpacked = await _unpack(host, subject.archive, model)
        seen.unpacks.append(unpacked)
        loading = await _load(host, model)
        requests = RequestSender(host, subject.examples, load.user, scratch)
        answers = await asyncio.to_thread(requests.measure, model, load, progress)
        rested = partial(requests.rested, model, answers, load)
        alone = await asyncio.to_thread(rested, progress)
        if seen.loaded[-1].models < 2:
            return alone, answers, None
        (archive,) = clone(subject.archive, clone_names("neighbor", 1), scratch / "neighbor")
        await _unpack(host, archive, archive.name)
        churn = asyncio.create_task(_come_and_go(host, archive.name))
        try:
            whole = 2 * loading.seconds  # a load takes longer beside requests
            beside = await asyncio.to_thread(
                rested, lambda line: progress(f"beside a load or unload, {line}"), least_seconds=whole
            )
        finally:
            churn.cancel()
            with suppress(asyncio.CancelledError):
                await churn  # which says why it has ended
        return alone, answers, beside


async def _come_and_go(host: LocalContainer, model: str) -> None:
    while True:
        await _load(host, model)
        await _unload(host, model)


def _container_for(root: Path, python: str, *, completes: bool) -> LocalContainer:
    """Return a container whose models perf_analyzer, which does not know SageMaker's routes, can call as well.

    Args:
        root: a new folder, as that of LocalContainer.
        python: of the stubs, such as "3.10".
        completes: whether Triton completes configs.
    """
    # Without namespaces: perf_analyzer asks for the steps of an ensemble by name, and cannot write a name with one.
    flags = ["--model-namespacing=false", *([] if completes else ["--disable-auto-complete-config"])]
    return LocalContainer(root, python, flags)


async def _unpack(container: LocalContainer, archive: Path, target_model: str) -> tuple[int, _Cost]:
    """Unpack the archive. Returns its bytes on the disk. Raises ExtractionError, or OSError for a full disk."""
    processor = time.process_time()
    size, seconds = await container.unpack(archive, target_model)
    return size, _Cost(seconds, time.process_time() - processor)


async def _load(container: LocalContainer, target_model: str) -> _Cost:
    """Load an unpacked archive. Raises NotLoadedError with Triton's reason."""
    before, began = container.processor_seconds(), time.monotonic()
    await container.load(target_model)
    return _Cost(time.monotonic() - began, container.processor_seconds() - before)


async def _unload(container: LocalContainer, target_model: str) -> float:
    """Return the seconds until the memory of a loaded archive is free. Raises EnsembleError."""
    began = time.monotonic()
    await container.unload(target_model)
    return time.monotonic() - began


async def _memory_of(container: LocalContainer, settle_seconds: float = _SETTLE_SECONDS) -> Memory:
    """Return the memory of the server and all its processes."""
    await asyncio.sleep(settle_seconds)
    return Memory(*await asyncio.to_thread(memory_parts, container.processes))


def available_memory() -> int:
    """Bytes of memory that programs can still take without others being swapped out."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"
