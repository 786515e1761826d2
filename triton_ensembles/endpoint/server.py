"""Starts and stops the server: its port, folders and processes, all of which are removed at the end."""

import asyncio
import contextlib
import logging
import shutil
import signal
import socket
from collections.abc import AsyncIterator, Callable

import aiohttp
import uvloop
from aiohttp import web

from triton_ensembles.endpoint.aws_services.process import s3_process
from triton_ensembles.endpoint.platform import Platform
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import locked
from triton_ensembles.server.ports import LOOPBACK

_BACKLOG = 1024
_KEEP_ALIVE_SECONDS = 75.0
_SHUTDOWN_SECONDS = 5.0  # for answers still being sent when all endpoints have stopped


def run_endpoint(settings: Settings, ready: Callable[[str], None], stopping: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; then let running requests end and remove everything but the logs.

    Raises EnsembleError when another process uses the port or the working folder, or the tritonserver is missing.

    Args:
        ready: called with the URL as soon as the server answers.
        stopping: called when the signal has arrived.
    """
    # In the main thread, which outlives all tritonservers: the kernel ends them with the thread that started them.
    uvloop.run(_serve(settings, ready, stopping))


async def _serve(settings: Settings, ready: Callable[[str], None], stopping: Callable[[], None]) -> None:
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop_requested.set)
    with _listen(settings.port) as listener:
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        async with (
            _folders(settings),
            s3_process(settings.scratch / "s3", settings.logs / "s3.log", settings.region) as backing,
            aiohttp.ClientSession(
                headers=backing.headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
                connector=aiohttp.TCPConnector(limit=0),
                auto_decompress=False,
            ) as session,
        ):
            platform = Platform(settings, url, backing, session)
            runner = web.ServerRunner(
                web.Server(
                    platform.router.handle,
                    handler_cancellation=True,  # a client that is gone needs no answer
                    auto_decompress=False,  # bodies go to the container as they are
                    keepalive_timeout=_KEEP_ALIVE_SECONDS,
                    access_log=None,
                ),
                shutdown_timeout=_SHUTDOWN_SECONDS,
            )
            await runner.setup()
            site = web.SockSite(runner, listener, backlog=_BACKLOG)
            try:
                await site.start()
                ready(url)
                await stop_requested.wait()
                stopping()
            finally:
                await platform.stop()  # it still listens, and answers 503
                await site.stop()
                await runner.cleanup()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((LOOPBACK, port), backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        cure = "stop the program that listens there, or choose another port with --port"
        reason = error.strerror if isinstance(error, OSError) else "ports are numbers from 0 to 65535"
        raise EnsembleError(f"port {port} of {LOOPBACK} cannot be used: {reason}", cure=cure) from error


@contextlib.asynccontextmanager
async def _folders(settings: Settings) -> AsyncIterator[None]:
    """Lock the working folder. At the end its logs are kept and the rest is removed."""

    def refuse(_: str) -> None:
        cure = "stop it, or choose another with --root"
        raise EnsembleError("another endpoint server uses this folder", path=settings.root, cure=cure)

    with locked(settings.root / ".lock", refuse):
        try:
            shutil.rmtree(settings.scratch, ignore_errors=True)  # left behind by a server that was killed
            for folder in (settings.scratch, settings.logs):  # for the owner alone: requests and models are in them
                folder.mkdir(mode=0o700, exist_ok=True)
                folder.chmod(0o700)
            (settings.scratch / "s3").mkdir(exist_ok=True)
            logging.basicConfig(
                filename=settings.logs / "platform.log", format="%(asctime)s %(levelname)s %(name)s %(message)s"
            )
            yield
        finally:
            await asyncio.to_thread(shutil.rmtree, settings.scratch, ignore_errors=True)
            (settings.root / ".lock").unlink(missing_ok=True)
