"""The container's processes: Triton as a child, and the gateway's server. They end together.

SageMaker replaces a container that ends, and not one whose Triton has died unnoticed.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import click
import uvloop
from aiohttp import web

from triton_ensembles.gateway.application import Gateway
from triton_ensembles.gateway.table import Table
from triton_ensembles.gateway.triton import Triton
from triton_ensembles.processes import die_with_parent

_TRITON_SECONDS = 30.0  # that Triton may take to end
_DRAIN_SECONDS = 60.0  # that requests under way may take at SIGTERM: as long as SageMaker waits for any
# Longer than clients keep a connection that has no request, so that none sends one just as it is closed.
_IDLE_SECONDS = 75.0
_UNREAD_SECONDS = 2.0  # that a client may go on sending a body which has been refused


@dataclass(frozen=True)
class Container:
    """The addresses of the gateway, and the Triton that it starts.

    Args:
        table: the models.
        host: the address to listen on: 0.0.0.0 in a container.
        port: SageMaker's, 8080.
        grpc_url: where Triton will listen, ``127.0.0.1:8001``.
        http_url: likewise, ``127.0.0.1:8000``.
        tritonserver: its command line.
    """

    table: Table
    host: str
    port: int
    grpc_url: str
    http_url: str
    tritonserver: Sequence[str]

    def run(self) -> None:
        """Run until SIGTERM or SIGINT. When Triton ends before, the process ends with status 1."""
        uvloop.run(self._run())

    async def _run(self) -> None:
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        listening = socket.create_server((self.host, self.port), backlog=1024)
        process = await asyncio.create_subprocess_exec(*self.tritonserver, preexec_fn=die_with_parent(adopt=True))
        watching = asyncio.create_task(_end_with(process))
        triton = Triton(self.grpc_url, self.http_url)
        runner = web.AppRunner(
            Gateway(self.table, triton).application,
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            keepalive_timeout=_IDLE_SECONDS,
            lingering_time=_UNREAD_SECONDS,
            shutdown_timeout=_DRAIN_SECONDS,
        )
        try:
            await runner.setup()
            await web.SockSite(runner, listening, backlog=1024).start()
            await stopping.wait()
        finally:
            await runner.cleanup()  # when the requests under way have been answered
            watching.cancel()
            await triton.close()
            await _end(process)


async def _end_with(process: asyncio.subprocess.Process) -> None:
    status = await process.wait()
    cause = f"signal {-status}" if status < 0 else f"status {status}"
    click.echo(f"error: tritonserver ended on its own with {cause}, so the container ends", err=True)
    os._exit(1)  # at once: until the container has ended, the platform sends requests that nobody can answer


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(_TRITON_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
