"""Keeps apart what tritonserver 2.51.0 must not do at the same time when it is SageMaker's.

- A request looks its model up, without a lock, in a map that every load and unload replaces (core r24.10,
  model_repository_manager.cc: FindModelIdentifier and LoadUnloadModels). A lookup that meets one is answered with 400
  "Request for unknown model", or ends the server.
- An unload reads the list of all repositories, also without a lock (RepositoryIndex), to which each load adds and each
  unload at its end. Where the reading fails, the server dies of a null pointer (sagemaker_server.cc:
  SageMakerMMECheckUnloadedModelIsUnavailable), or hangs in the handler of that signal.
- A load or unload keeps its thread busy, and a new connection may be given to a thread that has just got another.

So the beginnings of loads and unloads come one after the other, and apart from those of requests. An unload reads the
list when it begins, sleeps for half a second, and ends if the model was gone. So unloads may overlap that begin soon
after each other; the next ones wait for their ends. A model that takes long to end is looked for every half second:
what begins or ends in these few milliseconds is not kept apart.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from triton_ensembles.sagemaker.loading import Unloads

_LOOKUP_SECONDS = 0.25  # after which a request has been looked up, though it may not have been answered
_READ_SECONDS = 0.1  # after which an unload that has begun has read the list


class CallOrder:
    """The requests, loads and unloads of one server."""

    def __init__(self) -> None:
        self._lookups: set[asyncio.Future[None]] = set()
        self._waiting = 0  # lookups that wait for the beginning of a load or unload
        self._none_begins = asyncio.Event()
        self._none_begins.set()
        self._one_begins = asyncio.Lock()
        self._unloads = Unloads()
        self._read_at = 0.0  # when the latest unload has read the list
        self._unload_ended = asyncio.Event()

    @contextlib.contextmanager
    def request(self) -> Iterator[Callable[[], Awaitable[None]]]:
        """For a request until it is answered. Yields what to await before the last of it is sent."""
        answered = asyncio.get_running_loop().create_future()

        async def begin() -> None:
            while not self._none_begins.is_set():
                self._waiting += 1
                try:
                    await self._none_begins.wait()
                finally:
                    self._waiting -= 1
            if not answered.done():
                self._lookups.add(answered)

        try:
            yield begin
        finally:
            self._lookups.discard(answered)
            answered.set_result(None)

    @contextlib.asynccontextmanager
    async def load(self) -> AsyncIterator[Callable[[], None]]:
        """For a load until it is answered. Yields what to call when it has begun, if that is known sooner."""
        async with self._beginning(lambda now: self._read_at - now if self._unloads.running else 0) as begun:
            yield begun

    @contextlib.asynccontextmanager
    async def unload(self) -> AsyncIterator[Callable[[], None]]:
        """As :meth:`load`."""
        async with self._beginning(self._unloads.pause) as begun:
            self._unloads.begin(time.monotonic())

            def end() -> None:
                self._read_at = time.monotonic() + _READ_SECONDS
                begun()

            try:
                yield end
            finally:
                self._unloads.end()
                if not self._unloads.running:
                    self._unload_ended.set()
                    self._unload_ended = asyncio.Event()

    @contextlib.asynccontextmanager
    async def _beginning(self, seconds: Callable[[float], float]) -> AsyncIterator[Callable[[], None]]:
        """``seconds``: how long it has to wait yet at a time, unless all unloads end before."""
        with contextlib.ExitStack() as until_begun:
            while True:
                await self._one_begins.acquire()
                if (pause := seconds(time.monotonic())) <= 0:
                    break
                self._one_begins.release()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._unload_ended.wait(), pause)
            until_begun.callback(self._one_begins.release)
            while self._waiting:  # lookups that came before this: until they have begun
                await asyncio.sleep(0)
            self._none_begins.clear()
            until_begun.callback(self._none_begins.set)
            if self._lookups:
                await asyncio.wait(set(self._lookups), timeout=_LOOKUP_SECONDS)
            yield until_begun.close
