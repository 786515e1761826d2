"""The HTTP server before a room, and the folders that it works in: each is gone when it ends."""

import asyncio
import contextlib
import logging
import resource
import shutil
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from aiohttp import web

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import locked

_BACKLOG = 1024
_LEAST_FILES = 1024
_KEEP_ALIVE_SECONDS = 75.0
_SHUTDOWN_SECONDS = 5.0  # for answers still being sent when all models have stopped
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def listen(address: str, port: int, option: str) -> socket.socket:
    """A socket that listens there; port 0 is a free one. Raises EnsembleError, whose cure names the option, or when the
    process may not open enough files."""
    raise_file_limit()
    try:
        return socket.create_server((address, port), backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        cure = f"stop the program that listens there, or choose another port with {option}"
        reason = error.strerror if isinstance(error, OSError) else "ports are numbers from 0 to 65535"
        raise EnsembleError(f"port {port} of {address} cannot be used: {reason}", cure=cure) from error


def raise_file_limit() -> None:
    """Let this process, and those that it starts, open as many files as it may: one for each connection or object.
    Raises EnsembleError where that is too few for a tritonserver."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < _LEAST_FILES:
        cure = f"raise the limit to {_LEAST_FILES} or more (ulimit -Hn)"
        raise EnsembleError(f"{most} open files are too few for a tritonserver with models", cure=cure)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def stop_signals() -> asyncio.Event:
    """Is set by SIGINT and SIGTERM."""
    requested = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, requested.set)
    return requested


@contextlib.asynccontextmanager
async def answering(
    listener: socket.socket, handle: Handler, stop: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Answer requests there. At the end ``stop`` is awaited, while it still listens."""
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # it has a traceback for what is not HTTP
    server = web.Server(
        handle,
        handler_cancellation=True,  # a client that is gone needs no answer
        auto_decompress=False,  # bodies go to the container as they are
        keepalive_timeout=_KEEP_ALIVE_SECONDS,
        access_log=None,
    )
    runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
    await runner.setup()
    site = web.SockSite(runner, listener, backlog=_BACKLOG)
    try:
        await site.start()
        yield
    finally:
        await stop()
        await site.stop()
        await runner.cleanup()


@contextlib.asynccontextmanager
async def working_folders(root: Path, scratch: Path, logs: Path, log: str) -> AsyncIterator[None]:
    """Lock ``root``, and write warnings to the file ``log`` in ``logs``. At the end only the logs are kept."""

    def refuse(_: str) -> None:
        cure = "stop it, or choose another with --root"
        raise EnsembleError("another server uses this folder", path=root, cure=cure)

    with locked(root / ".lock", refuse):
        try:
            shutil.rmtree(scratch, ignore_errors=True)  # left behind by a server that was killed
            for folder in (scratch, logs):  # for the owner alone: requests and models are in them
                folder.mkdir(mode=0o700, exist_ok=True)
                folder.chmod(0o700)
            logging.basicConfig(filename=logs / log, format="%(asctime)s %(levelname)s %(name)s %(message)s")
            yield
        finally:
            await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)
            (root / ".lock").unlink(missing_ok=True)
