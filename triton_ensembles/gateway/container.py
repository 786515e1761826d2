"""What the container runs: Triton as a child, and the gateway's server. It ends when one of them does.

SageMaker replaces a container that ends, and not one whose Triton has died unnoticed.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass

import click
import uvicorn
import uvloop

from triton_ensembles.gateway.application import Gateway
from triton_ensembles.gateway.http1 import Http1
from triton_ensembles.gateway.table import Table
from triton_ensembles.gateway.triton import Triton
from triton_ensembles.processes import die_with_parent

_TRITON_SECONDS = 30.0  # that Triton may take to end
_IDLE_SECONDS = (
    75  # that a connection stays open without a request: longer than clients keep theirs, so none meets its end
)
_DRAIN_SECONDS = 60  # that requests under way may take at SIGTERM: as long as SageMaker waits for any


@dataclass(frozen=True)
class Container:
    """Where it listens, and the Triton that it starts.

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
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)  # uvicorn raises the signal once more when it has drained
        listening = _listen(self.host, self.port)
        process = await asyncio.create_subprocess_exec(*self.tritonserver, preexec_fn=die_with_parent(adopt=True))
        triton = Triton(self.grpc_url, self.http_url)
        server = uvicorn.Server(
            uvicorn.Config(
                Gateway(self.table, triton),
                http=Http1,
                lifespan="off",
                ws="none",
                proxy_headers=False,
                log_level="warning",
                access_log=False,
                timeout_keep_alive=_IDLE_SECONDS,
                timeout_graceful_shutdown=_DRAIN_SECONDS,
            )
        )
        watching = asyncio.create_task(_end_with(process))
        try:
            await server.serve([listening])
        finally:
            watching.cancel()
            await triton.close()
            await _end(process)


def _listen(host: str, port: int) -> socket.socket:
    made = socket.create_server((host, port), backlog=1024)
    made.setblocking(False)
    return made


async def _end_with(process: asyncio.subprocess.Process) -> None:
    status = await process.wait()
    how = f"signal {-status}" if status < 0 else f"status {status}"
    click.echo(f"error: tritonserver ended by itself with {how}, so the container ends", err=True)
    os._exit(1)  # at once: until the container has ended, the platform sends requests that nobody can answer


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(_TRITON_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
