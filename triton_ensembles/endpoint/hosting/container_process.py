"""One container: a tritonserver that is started anew whenever it ends, with what the platform measures on it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from triton_ensembles.endpoint.hosting.triton_api import TritonApi
from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import command_line, descendants, proportional_set_size
from triton_ensembles.triton.sagemaker_server import SageMakerServer

_LONGEST_PAUSE = 30.0  # seconds between attempts to start a server that does not come up
_GONE_SECONDS = 30.0  # how long the processes of an unloaded model may take to end
_LOOK_SECONDS = 0.05


class Container:
    """A tritonserver over one repository folder.

    Args:
        repository: the folder that it serves; it must be there when ``start`` is called.
        environment: the container's variables.
        log: the file that it appends its log to.
        startup_seconds: how long it may take until /ping answers.
    """

    def __init__(self, repository: Path, environment: Mapping[str, str], log: Path, startup_seconds: float) -> None:
        self._repository = repository
        self._environment = environment
        self._log = log
        self._startup_seconds = startup_seconds
        self._died: Callable[[str], None] = lambda _: None
        self._restarted: Callable[[], None] = lambda: None
        self._server: SageMakerServer | None = None
        self._api: TritonApi | None = None
        self._up = asyncio.Event()
        self._handle = -1
        self._restarting: asyncio.Task[None] | None = None
        self._stuck = False
        self.restarts = 0

    def when_died(self, tell: Callable[[str], None]) -> None:
        """Have ``tell`` called with the reason whenever the server has ended by itself; its models are gone then."""
        self._died = tell

    def when_restarted(self, tell: Callable[[], None]) -> None:
        """Have ``tell`` called whenever it is up again after that."""
        self._restarted = tell

    @property
    def ready(self) -> bool:
        return self._up.is_set()

    @property
    def server(self) -> SageMakerServer:
        assert self._server is not None, "the container has not been started"
        return self._server

    async def start(self) -> None:
        """Launch the server and wait until it is ready. Raises EnsembleError with Triton's reason."""
        server = SageMakerServer(
            self._repository,
            self._environment,
            log=self._log,
            append_log=True,
            ready_seconds=self._startup_seconds,
        )
        server.launch()  # from the event loop's thread, which lasts
        try:
            await asyncio.to_thread(server.wait_until_ready)
        except asyncio.CancelledError:
            await asyncio.to_thread(server.stop, at_once=True)  # it does not listen yet
            raise
        self._server = server
        self._api = TritonApi(server.sagemaker_url)
        # Readable once the process has ended, and before anybody has reaped it.
        self._handle = os.pidfd_open(server.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._ended)
        self._up.set()

    async def api(self) -> TritonApi:
        """The connection to the server, as soon as it is up. It is closed when that server ends."""
        await self._up.wait()
        assert self._api is not None
        return self._api

    async def kill(self, api: TritonApi, patience: float = 0.0) -> None:
        """Kill the server behind ``api`` unless it ends by itself within ``patience`` seconds.

        Another one is started then, as after a crash.
        """
        deadline = time.monotonic() + patience
        while not api.closed and time.monotonic() < deadline:
            await asyncio.sleep(_LOOK_SECONDS)
        if not api.closed:  # so it is the server that is up, and nobody has reaped it
            self.server.note_environments()
            os.kill(self.server.pid, signal.SIGKILL)
        while not api.closed:
            await asyncio.sleep(_LOOK_SECONDS)

    def is_stuck(self) -> None:
        """It is in the middle of something that cannot be broken off: ``stop`` is not to wait for it."""
        self._stuck = True

    async def stop(self) -> None:
        """Stop the server and whatever belongs to it. Harmless when it is not running."""
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.wait([self._restarting])
        await self._put_down()

    async def memory(self) -> int:
        """Bytes that the server and its Python processes use (PSS)."""
        return await asyncio.to_thread(self._memory)

    async def holds(self, hash: str) -> bool:
        """Whether processes of this model are there."""
        return await asyncio.to_thread(self._holds, hash)

    async def gone(self, hash: str) -> bool:
        """Wait until no process of this model is left, and say whether that came about in time.

        Triton answers an unload when the ensemble's name is gone; its steps end up to a second later.
        """
        return await asyncio.to_thread(self._wait_until_gone, hash)

    def mark(self) -> int:
        """A place in the log, for :meth:`SageMakerServer.reasons`."""
        return self._log.stat().st_size

    def _memory(self) -> int:
        if not self._up.is_set():
            return 0
        self.server.note_environments()
        return proportional_set_size([self.server.pid, *descendants(self.server.pid)])

    def _holds(self, hash: str) -> bool:
        # Triton starts a step's process with the path of its model.py, for Python-based backends too.
        here = descendants(self.server.pid) if self._up.is_set() else []
        return any(f"/{hash}/" in command_line(pid) for pid in here)

    def _wait_until_gone(self, hash: str) -> bool:
        for _ in range(int(_GONE_SECONDS / _LOOK_SECONDS)):
            if not self._holds(hash):
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def _ended(self) -> None:
        """The server has ended though nobody stopped it: its models are gone, and another one is started."""
        assert self._server is not None and self._api is not None
        self._release_handle()
        self._up.clear()
        self._api.close()
        found = os.waitid(os.P_PID, self._server.pid, os.WEXITED | os.WNOWAIT)
        how = f"signal {found.si_status}" if found and found.si_code != os.CLD_EXITED else "an exit of its own"
        self._died(f"tritonserver ended by {how}")
        self._restarting = asyncio.get_running_loop().create_task(self._restart())

    async def _restart(self) -> None:
        await self._put_down()
        pause = 0.0
        while True:
            try:
                await self.start()
            except (EnsembleError, OSError) as error:
                self._died(f"tritonserver does not come up again: {error}")
                pause = min(_LONGEST_PAUSE, pause * 2 + 1)
                await asyncio.sleep(pause)
            else:
                self.restarts += 1
                self._restarted()
                return

    async def _put_down(self) -> None:
        self._up.clear()
        self._release_handle()
        if self._api is not None:
            self._api.close()  # the server waits for connections that are kept open
            self._api = None
        if self._server is not None:
            await asyncio.to_thread(self._server.stop, at_once=self._stuck)

    def _release_handle(self) -> None:
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1
