"""Starts and stops a host: its port, its room and its folders."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator

from triton_ensembles.host.application import Application
from triton_ensembles.host.catalog import Source
from triton_ensembles.host.gateway.application import Gateway
from triton_ensembles.host.gateway.models_toml import Table
from triton_ensembles.host.report import HostReport
from triton_ensembles.host.room import Room
from triton_ensembles.host.settings import DRAIN_SECONDS, Settings
from triton_ensembles.hosting.container import Container, Launch
from triton_ensembles.hosting.disk import Disk
from triton_ensembles.hosting.http_server import answering, listen, stop_signals, working_folders
from triton_ensembles.hosting.log_file import trim_log
from triton_ensembles.server.bare_python import NO_BYTECODE
from triton_ensembles.server.server_command import ServerOptions
from triton_ensembles.triton.sagemaker_variables import ADDITIONAL_ARGS, MULTI_MODEL

_NOTE_SECONDS = 2.0  # between notes of what is loaded
_PRINT_SECONDS = 0.2  # between looks at the log


async def serve_host(
    settings: Settings,
    source: Source,
    table: Table,
    preload: Iterable[str],
    ready: Callable[[str, Room], None],
    warn: Callable[[str], None],
) -> None:
    """Answer requests until SIGINT or SIGTERM; then let running ones end and remove everything but the logs.

    To be run in the main thread, which outlives tritonserver: the kernel ends it with the thread that started it.
    Raises EnsembleError when the port or the folder is in use, or tritonserver or a pinned model does not start.

    Args:
        table: of /invocations.
        preload: names of models to load in the background.
        ready: called with the URL when the server answers and what is pinned is loaded.
        warn: called with sentences for whoever started it.
    """
    stop_requested = stop_signals()
    token = settings.token
    with listen(settings.bind, settings.http_port, "--http-port") as listener:
        async with working_folders(settings.root, settings.scratch, settings.logs, "host.log"), _printed(settings):
            report = HostReport(warn)
            room = _room(settings, source, report)
            application = Application(settings, token, room, report, Gateway(table, room, report))
            report.show(lambda: _gauges(settings, room))

            async def stop() -> None:
                application.stopping = True
                await room.stop(DRAIN_SECONDS)

            async with answering(listener, application.handle, stop):
                await _unless(stop_requested, room.start())
                if not stop_requested.is_set():
                    room.preload(preload)
                    ready(f"http://{settings.bind}:{listener.getsockname()[1]}", room)
                    await _watch(settings, room, stop_requested)


def _room(settings: Settings, source: Source, report: HostReport) -> Room:
    budgets = settings.budgets
    flags = "--allow-http=true" + (" --disable-auto-complete-config" if settings.disable_auto_complete_config else "")
    disk = Disk(settings.scratch, source.objects, budgets.disk_bytes)
    variables = {
        **settings.environment,
        NO_BYTECODE: "1",  # in a folder that is watched, it would be a change
        MULTI_MODEL: "true",
        ADDITIONAL_ARGS: flags,
        "SAGEMAKER_TRITON_LOG_VERBOSE": "false",  # the script's default writes ten lines about each request
        "SAGEMAKER_TRITON_THREAD_COUNT": "64",
    }
    seconds, python, home = budgets.startup_seconds, settings.python, settings.server
    options = ServerOptions(log=settings.server_log, ready_seconds=seconds, python=python, home=home)
    launch = Launch(disk.empty_folder(), variables, options, kserve=True)
    return Room(source.catalog, Container(launch), disk, budgets, report, settings.pin)


async def _watch(settings: Settings, room: Room, stop_requested: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as watching:
        tasks = [watching.create_task(room.watch()), watching.create_task(_note(settings, room))]
        await stop_requested.wait()
        for task in tasks:
            task.cancel()


async def _unless(stop_requested: asyncio.Event, starting: Coroutine[None, None, None]) -> None:
    """Await the start, which Ctrl-C ends."""
    start, stop = asyncio.create_task(starting), asyncio.create_task(stop_requested.wait())
    await asyncio.wait([start, stop], return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not start.done():
        start.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await start
    else:
        start.result()


@contextlib.asynccontextmanager
async def _printed(settings: Settings) -> AsyncIterator[None]:
    """Print what tritonserver and the models write to their log, which is how the log of a container is read."""
    if not settings.as_container:
        yield
        return
    settings.server_log.touch()
    with settings.server_log.open("rb") as file:

        def pass_on() -> None:
            if file.tell() > settings.server_log.stat().st_size:  # it has been trimmed
                file.seek(0)
            sys.stdout.buffer.write(file.read())
            sys.stdout.flush()

        async def follow() -> None:
            while True:
                pass_on()
                await asyncio.sleep(_PRINT_SECONDS)

        following = asyncio.create_task(follow())
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])
            pass_on()


async def _note(settings: Settings, room: Room) -> None:
    """Keep the names of what is loaded, for ``--preload``, and the log short."""
    noted: list[str] = []
    while True:
        await asyncio.sleep(_NOTE_SECONDS)
        await asyncio.to_thread(trim_log, settings.server_log)
        if (loaded := room.loaded()) and sorted(loaded) != sorted(noted):
            noted = loaded
            settings.loaded.write_text("".join(f"{name}\n" for name in loaded))


def _gauges(settings: Settings, room: Room) -> Iterator[tuple[str, str, float]]:
    status = room.status()
    yield "host_ready", "1 if tritonserver runs and what is pinned is loaded", room.ready
    yield "host_models", "Models of the catalog", len(list(room.index()))
    yield "host_loaded_models", "Models that are loaded", sum(model.loaded for model in status.models)
    yield "host_requests_in_flight", "Requests that wait for a model or are being answered", status.in_flight
    yield "host_memory_bytes", "Memory of tritonserver and its Python processes (PSS)", status.memory_bytes
    yield "host_memory_budget_bytes", "What --memory-budget allows", settings.memory_budget
    yield "host_disk_bytes", "Disk space of unpacked archives and environments", status.disk_bytes
    yield "host_disk_budget_bytes", "What --disk-budget allows", settings.disk_budget
    yield "host_restarts_total", "How often tritonserver ended and was started again", status.restarts
