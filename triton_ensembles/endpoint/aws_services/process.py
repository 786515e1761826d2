"""Starts and stops the S3 process, which answers only who knows its secret."""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from triton_ensembles.endpoint.aws_services.fault import SECRET
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import IMPORTED_FROM
from triton_ensembles.ground.processes import die_with_parent
from triton_ensembles.server.ports import LOOPBACK

_log = logging.getLogger(__name__)
_START_SECONDS = 60
_BACKLOG = 1024
_PAUSE_SECONDS = 1.0  # before it is started again
# Otherwise glibc keeps the memory of every upload's parts, for each thread, instead of returning it.
_FRUGAL = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": str(128 * 1024)}
# All that it has of this process's environment: models, which run as the same user, can read its own.
_PASSED = frozenset({"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "TZ"})


@dataclass(frozen=True)
class Backing:
    """The S3 process, where web pages can send requests as well."""

    port: int
    secret: str

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``"""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def headers(self) -> Mapping[str, str]:
        """Return those that it demands of each request."""
        return {SECRET: self.secret}

    def admit(self, client: Any) -> Any:
        """The boto3 client, whose requests have these headers from now on."""
        client.meta.events.register("before-send", self._add_headers)
        return client

    def _add_headers(self, request: Any, **_: object) -> None:
        for name, value in self.headers.items():
            request.headers[name] = value


@asynccontextmanager
async def s3_process(scratch: Path, log: Path, region: str) -> AsyncIterator[Backing]:
    """moto's server in a separate process, so that its memory, locks and CPU time do not slow down requests.

    Its objects are in the folder ``scratch``. It answers when this yields. Whenever it ends on its own, it is started
    again, without the objects that it had. The port stays this process's, so that nobody else gets it meanwhile, and
    requests wait.
    """
    secret = secrets.token_urlsafe(32)
    with socket.create_server((LOOPBACK, 0), backlog=_BACKLOG) as listener:
        start = partial(_started, scratch, log, region, secret, listener.fileno())
        keeping = asyncio.create_task(_kept(await start(), start, log))
        try:
            yield Backing(listener.getsockname()[1], secret)
        finally:
            keeping.cancel()
            await asyncio.wait([keeping])


async def _kept(process: Process, start_again: Callable[[], Awaitable[Process]], log: Path) -> None:
    """Start it again whenever it ends, until this is canceled."""
    try:
        while True:
            code = await process.wait()
            _log.error("the S3 server ended with exit code %s, see %s: it is started again, without objects", code, log)
            await asyncio.sleep(_PAUSE_SECONDS)
            with contextlib.suppress(EnsembleError, OSError):  # in a moment once more
                process = await start_again()
    finally:
        await _ended(process)


async def _started(scratch: Path, log: Path, region: str, secret: str, listener: int) -> Process:
    """Start it on the listening socket of this descriptor. Raises :class:`EnsembleError`."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED or name.startswith("PYTHON")}
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "triton_ensembles.endpoint.aws_services.serve", str(listener)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=IMPORTED_FROM,
            env=kept | _FRUGAL | {"TMPDIR": os.fspath(scratch), "AWS_DEFAULT_REGION": region},
            start_new_session=True,
            preexec_fn=die_with_parent(),
            pass_fds=(listener,),
        )
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{secret}\n".encode())
        process.stdin.close()
        if not await asyncio.wait_for(process.stdout.readline(), _START_SECONDS):
            raise TimeoutError  # it has ended
    except BaseException as error:
        await _ended(process)
        if isinstance(error, TimeoutError | OSError):
            raise EnsembleError("the S3 server did not start", path=log, cure="see its log") from error
        raise
    return process


async def _ended(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()
