"""A container: a tritonserver that is restarted whenever it ends, and what the platform measures on it."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from triton_ensembles.ground.processes import descendants, end_handles, handles, has_ended, send, wait_for_handles
from triton_ensembles.hosting.cpu import CpuMeter
from triton_ensembles.hosting.environment_sizes import EnvironmentSizes
from triton_ensembles.hosting.model_processes import ModelProcesses, Usage, is_stub
from triton_ensembles.hosting.triton_api import TritonApi
from triton_ensembles.server.gateway_server import GatewayServer
from triton_ensembles.server.sagemaker_server import SageMakerServer
from triton_ensembles.server.server_command import Reach, ServerOptions
from triton_ensembles.server.server_process import BusyAbortError
from triton_ensembles.triton.destination import LOCAL

_LONGEST_PAUSE = 30.0  # seconds between attempts to start a server that fails to start
_GONE_SECONDS = 30.0  # how long the stubs of an unloaded model may take to end
_END_SECONDS = 1.0  # and what they have started, after SIGTERM
_POLL_SECONDS = 0.05


class Left(NamedTuple):
    """Processes left of a model after its unload: stubs that still run, and others, which were ended."""

    stubs: int
    others: int


@dataclass(frozen=True)
class Launch:
    """How a container is started.

    Attributes:
        repository: a folder, which must exist when the container starts.
        options: of its server, which appends to the log.
        gateway: whether it is the gateway's container, with its table in the repository.
        release: of the image, whose script reads the variables.
        reach: who may talk to KServe v2, where the variables turn it on.
        kserve: whether models are requested over KServe v2, which the variables turn on, and not as SageMaker does.
    """

    repository: Path
    environment: Mapping[str, str]
    options: ServerOptions
    gateway: bool = False
    release: tuple[int, int] = LOCAL
    reach: Reach = Reach.SOCKETS
    kserve: bool = False

    def server(self) -> SageMakerServer | GatewayServer:
        make = GatewayServer if self.gateway else partial(SageMakerServer, release=self.release, reach=self.reach)
        options: ServerOptions = {**self.options, "append_log": True}
        return make(self.repository, self.environment, **options)


class Container:
    """A tritonserver over one repository folder."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.name = "the gateway's container" if launch.gateway else "tritonserver"
        self._sizes = EnvironmentSizes()
        self._processes = ModelProcesses()
        self._looking = threading.Lock()
        self._look: asyncio.Task[Usage] | None = None
        self._next_look: asyncio.Task[Usage] | None = None
        self._meter = CpuMeter()
        self.on_death: Callable[[str], None] = lambda _: None  # with the reason; its models are gone then
        self.on_restart: Callable[[], None] = lambda: None  # the server is ready again
        self.stuck = False  # it does something that cannot be canceled: ``stop`` kills it instead of waiting
        self._server: SageMakerServer | GatewayServer | None = None
        self._api: TritonApi | None = None
        self._up = asyncio.Event()
        self._handle = -1
        self._restarting: asyncio.Task[None] | None = None
        self.restarts = 0

    @property
    def has_stubs(self) -> bool:
        """Return whether every model has processes of its own, as those of this project's backends have."""
        return self._launch.options.get("home") is None

    @property
    def ready(self) -> bool:
        return self._up.is_set()

    @property
    def server(self) -> SageMakerServer | GatewayServer:
        assert self._server is not None, "the container has not been started"
        return self._server

    async def start(self) -> None:
        """Launch the server and wait until it is ready. Raises EnsembleError with Triton's reason."""
        server = self._launch.server()
        server.launch()  # in the event loop's thread, which outlives the server
        try:
            try:
                await asyncio.to_thread(server.wait_until_ready)
            except BusyAbortError:
                server.launch()
                await asyncio.to_thread(server.wait_until_ready)
        except asyncio.CancelledError:
            await asyncio.to_thread(server.stop, at_once=True)  # it does not listen yet
            raise
        self._server = server
        secret = {} if "sagemaker" in server.sockets else server.secret.http
        kserve = server.http_url if self._launch.kserve else ""
        self._api = TritonApi(server.sagemaker_url, server.written_log, secret, kserve)
        # Readable once the process has ended, but before it is reaped.
        self._handle = os.pidfd_open(server.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._ended)
        self._up.set()

    async def api(self) -> TritonApi:
        """The connection to the server, as soon as it is ready. It is closed when that server ends."""
        await self._up.wait()
        assert self._api is not None
        return self._api

    async def kill(self, api: TritonApi, patience: float = 0.0) -> None:
        """Kill the server behind ``api`` unless it ends within ``patience`` seconds. It is restarted then."""
        deadline = time.monotonic() + patience
        while not api.closed and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
        if not api.closed:  # so it is the present server, which has not been reaped
            self.server.note_environments()
            os.kill(self.server.pid, signal.SIGKILL)
        while not api.closed:
            await asyncio.sleep(_POLL_SECONDS)

    async def stop(self) -> None:
        """Stop the server and its processes. Harmless when it is not running."""
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.wait([self._restarting])
        await self._shut_down()

    async def usage(self) -> Usage:
        """The memory that the server and its processes use; nothing when the server has ended.

        A look takes a while when many models are loaded. Calls during one share the next.
        """
        if self._next_look is None:
            self._next_look = asyncio.create_task(self._look_after(self._look))
        return await asyncio.shield(self._next_look)

    async def cpu(self) -> float:
        """Percent of one core that the server and its Python processes have used since the last call."""
        return await asyncio.to_thread(self._cpu)

    async def environment_bytes(self) -> int:
        """Bytes of the environments that the server has unpacked into /tmp."""
        return await asyncio.to_thread(self._environment_bytes)

    def log_size(self) -> int:
        """The present size of the log: where :meth:`SageMakerServer.reasons` is to begin reading."""
        return self.server.written_log.stat().st_size

    async def end_steps(self, hash: str) -> None:
        """Kill the processes of a model that is being loaded: Triton then answers that they are not healthy."""
        with handles(await asyncio.to_thread(self._pids, hash)) as processes:
            send(processes, signal.SIGKILL)

    async def has_processes(self, hash: str) -> bool:
        return bool(await asyncio.to_thread(self._pids, hash))

    @contextlib.asynccontextmanager
    async def ending(self, hash: str) -> AsyncIterator[Callable[[], Awaitable[Left]]]:
        """While a model is unloaded: yields a function that waits until none of its processes is left.

        Triton answers an unload as soon as the ensemble's name is gone; its steps end up to a second later. Whatever
        they have started may outlive them, as in AWS's container, and is ended here.
        """
        pids = await asyncio.to_thread(self._pids, hash)
        with handles(filter(is_stub, pids)) as stubs, handles(pid for pid in pids if not is_stub(pid)) as children:

            def end() -> Left:
                still = wait_for_handles(stubs, _GONE_SECONDS)
                orphans = wait_for_handles(children, 0)
                end_handles(orphans, _END_SECONDS)
                return Left(len(still), len(orphans))

            yield lambda: asyncio.to_thread(end)

    async def _look_after(self, look: asyncio.Task[Usage] | None) -> Usage:
        if look is not None:
            await asyncio.wait([look])
        self._look, self._next_look = self._next_look, None
        return await asyncio.to_thread(self._usage)

    def _usage(self) -> Usage:
        if not self._up.is_set():
            return Usage()
        self.server.note_environments()
        with self._looking:
            usage = self._processes.usage(self.server.pid)
        return Usage() if has_ended(self.server.pid) else usage

    def _cpu(self) -> float:
        return self._meter.look([self.server.pid, *descendants(self.server.pid)] if self._up.is_set() else [])

    def _environment_bytes(self) -> int:
        return self._sizes.total(self.server.note_environments()) if self._up.is_set() else 0

    def _pids(self, hash: str) -> list[int]:
        with self._looking:
            return self._processes.find(self.server.pid).get(hash, []) if self._up.is_set() else []

    def _ended(self) -> None:
        """The server has ended on its own: its models are gone, and it is restarted."""
        assert self._server is not None and self._api is not None
        self._release_handle()
        self._up.clear()
        self._api.close()
        self._restarting = asyncio.get_running_loop().create_task(self._restart())  # whatever fails below
        exit_state = os.waitid(os.P_PID, self._server.pid, os.WEXITED | os.WNOWAIT)
        how = f"signal {exit_state.si_status}" if exit_state and exit_state.si_code != os.CLD_EXITED else "exiting"
        self.on_death(f"{self.name} ended by {how}")

    async def _restart(self) -> None:
        await self._shut_down()
        pause = 0.0
        while True:
            try:
                await self.start()
            except Exception as error:  # whatever it is: without this task there is no server any more
                self.on_death(f"{self.name} does not start again: {error}")
                pause = min(_LONGEST_PAUSE, pause * 2 + 1)
                await asyncio.sleep(pause)
            else:
                self.restarts += 1
                self.on_restart()
                return

    async def _shut_down(self) -> None:
        self._up.clear()
        self._release_handle()
        if self._api is not None:
            self._api.close()  # the server waits for connections that are kept open
            self._api = None
        if self._server is not None:
            await asyncio.to_thread(self._server.stop, at_once=self.stuck)
            with self._looking:
                self._processes.end_orphans()

    def _release_handle(self) -> None:
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = -1
