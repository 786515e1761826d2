"""The requests that may be sent to tritonserver 2.51.0: to load, unload and invoke as SageMaker does, and KServe v2.

Two requests abort that server or make it hang, and are therefore never sent: POST /models with incomplete JSON (it
aborts), and an unload whose TargetModel header differs from that of the load (it waits 350 s). So load, invoke and
unload get the same header, and the JSON only contains names that this platform made itself.
"""

import asyncio
import contextlib
import json
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import aiohttp
from yarl import URL

from triton_ensembles.hosting.call_order import CallOrder
from triton_ensembles.hosting.connector import base_of, connector_to
from triton_ensembles.hosting.request import Invocation, Pieces, Reply
from triton_ensembles.server.repository_api import error_in
from triton_ensembles.triton.log import read_log

TARGET_MODEL = "X-Amzn-SageMaker-Target-Model"
JSON_LENGTH = "Inference-Header-Content-Length"  # of KServe v2: bytes before the binary tensors
_KEPT = ("Content-Type", JSON_LENGTH)
_WHOLE = 64 << 10  # bytes; replies up to this size are read at once
_CONNECT_SECONDS = 10.0
_END_SECONDS = 5.0
_POLL_SECONDS = 0.02
_BEGIN_SECONDS = 0.5  # how long a load or unload takes to begin at most, should the log not say it
_LOG_SECONDS = 0.005  # between looks at it

Beginning = contextlib.AbstractAsyncContextManager[Callable[[], None]]


class ContainerDied(Exception):
    """The connection broke: tritonserver has ended, or is about to."""


class NeverSent(ContainerDied):
    """There was no connection to break: the request is still the next server's to answer."""


class ContainerAnswered(Exception):
    """A status of 400 or more, with the container's own message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class TritonApi:
    """The HTTP ports of one tritonserver, from its start to its end. To be made on the event loop that uses it.

    ``url`` is that of its SageMaker port: ``unix:PATH``, or ``127.0.0.1:PORT`` where the server is not ours, which may
    demand ``headers``. ``kserve``: that of KServe v2, if requests go there. After ``close`` every call raises
    ContainerDied: the next server there knows nothing of what this one loaded.
    """

    def __init__(self, url: str, log: Path, headers: Mapping[str, str] = {}, kserve: str = "") -> None:
        self._log = log
        self._order = CallOrder()
        self._session = _session(url, headers)
        # The server loads and unloads in the thread of the connection, and leaves its other connections waiting. A new
        # connection goes to a thread that is free: for each load and unload, and for requests meanwhile.
        self._new_connections = _session(url, headers, force_close=True)
        self._kserve = _session(kserve, headers) if kserve else None
        self._busy = 0  # loads and unloads in progress
        self._answers: weakref.WeakSet[aiohttp.ClientResponse] = weakref.WeakSet()
        self.closed = False

    async def load(self, hash: str, folder: Path, target_model: str) -> None:
        """Raises ContainerAnswered or ContainerDied."""
        body = json.dumps({"model_name": hash, "url": str(folder)})
        await self._control(self._order.load(), f'"loading: {folder}::', "POST", "/models", target_model, body)

    async def unload(self, hash: str, target_model: str) -> None:
        """Raises ContainerAnswered or ContainerDied."""
        logged = f"::{target_model}' version "
        await self._control(self._order.unload(), logged, "DELETE", f"/models/{hash}", target_model, "")

    async def invoke(self, path: str, request: Invocation, seconds: float) -> Reply:
        """Send the request to ``path`` and return the answer.

        Raises ContainerAnswered, ContainerDied, NeverSent, or TimeoutError for no complete answer (of one in pieces, no
        head) within ``seconds``.
        """
        started = time.perf_counter()
        headers = dict(request.headers)
        if request.target_model is not None:
            headers[TARGET_MODEL] = request.target_model
        if request.content_length is not None:
            headers["Content-Length"] = str(request.content_length)
        async with asyncio.timeout(seconds):
            with self._order.request() as begin, _died_if_broken():
                body = request.body
                if isinstance(body, bytes):
                    await begin()
                else:
                    body = _before_the_last(body, begin)
                session = self._kserve or (self._new_connections if self._busy else self._session)
                answer = await self._request(session, request.method, path, headers, body)
                if answer.status >= 400:
                    raise ContainerAnswered(answer.status, error_in(await answer.read()))
                length = answer.content_length
                small = length is not None and length <= _WHOLE
                reply = await answer.read() if small else Pieces(answer, seconds)
        kept = {name: answer.headers[name] for name in _KEPT if name in answer.headers}
        return Reply(answer.status, kept, reply, length, time.perf_counter() - started)

    async def has_ended(self) -> bool:
        """Return whether the server has ended, or does so in a moment: its connections close a little earlier."""
        limit = time.monotonic() + _END_SECONDS
        while not self.closed and time.monotonic() < limit:
            await asyncio.sleep(_POLL_SECONDS)
        return self.closed

    def close(self) -> None:
        """End all connections. Harmless when called again."""
        if not self.closed:
            self.closed = True
            for answer in list(self._answers):
                answer.close()  # its reader would otherwise wait until its time is over
            sessions = filter(None, (self._session, self._new_connections, self._kserve))
            self._closing = asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)

    async def _control(
        self, beginning: Beginning, logged: str, method: str, path: str, target_model: str, body: str
    ) -> None:
        """``logged``: what the log says when the load or unload has begun."""
        headers = {TARGET_MODEL: target_model}
        async with beginning as begun:
            self._busy += 1
            watch = asyncio.create_task(self._watch_log(logged, begun))
            try:
                with _died_if_broken():
                    answer = await self._request(self._new_connections, method, path, headers, body.encode())
                    message = error_in(await answer.read())
                self._busy -= 1  # not of a load that is given up: its thread stays busy, and so do its connections
            finally:
                watch.cancel()
        if answer.status >= 400:
            raise ContainerAnswered(answer.status, message)

    async def _watch_log(self, text: str, begun: Callable[[], None]) -> None:
        start, limit = self._log.stat().st_size, time.monotonic() + _BEGIN_SECONDS
        while time.monotonic() < limit and text not in read_log(self._log, start):
            await asyncio.sleep(_LOG_SECONDS)
        begun()

    async def _request(
        self,
        session: aiohttp.ClientSession,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | AsyncIterator[bytes],
    ) -> aiohttp.ClientResponse:
        if self.closed:
            raise NeverSent("this server has ended")
        url = URL(path, encoded=True)
        answer = await session.request(method, url, headers=headers, data=body, allow_redirects=False)
        self._answers.add(answer)
        return answer


def _session(url: str, headers: Mapping[str, str], *, force_close: bool = False) -> aiohttp.ClientSession:
    """A client that adds no headers of its own but these, and passes bodies on as they are."""
    return aiohttp.ClientSession(
        base_of(url),
        connector=connector_to(url, limit=0, force_close=force_close),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )


@contextlib.contextmanager
def _died_if_broken() -> Iterator[None]:
    """Turns aiohttp's errors of broken connections, and of answers that are not HTTP, into ContainerDied."""
    try:
        yield
    except aiohttp.ClientConnectorError as error:
        raise NeverSent(str(error)) from error
    except aiohttp.ClientError as error:
        raise ContainerDied(str(error) or type(error).__name__) from error


async def _before_the_last(pieces: AsyncIterator[bytes], begin: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
    """The pieces, with ``begin`` awaited before the last one."""
    last = b""
    async for piece in pieces:
        if last:
            yield last
        last = piece
    await begin()
    yield last
