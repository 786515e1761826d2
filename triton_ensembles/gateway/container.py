"""The container's processes: Triton as a child, and the gateway's server. They end together.

SageMaker replaces a container that ends, and not one whose Triton has died unnoticed.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Sequence

import click
from aiohttp import web

from triton_ensembles.gateway.application import Gateway
from triton_ensembles.gateway.models_toml import Table
from triton_ensembles.gateway.triton import Triton
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import die_with_parent
from triton_ensembles.ground.spelling import listed
from triton_ensembles.sagemaker.contract import INVOKE_SECONDS
from triton_ensembles.server.ports import LOOPBACK

_TRITON_SECONDS = 30.0  # that Triton may take to end
_DRAIN_SECONDS = INVOKE_SECONDS  # that requests under way may take at SIGTERM
_LOOK_SECONDS = 0.5  # between two questions for what Triton has
_UNREAD_SECONDS = 2.0  # that a client may take to send the rest of a body which has been refused


async def run(table: Table, host: str, port: int, grpc_url: str, http_url: str, tritonserver: Sequence[str]) -> None:
    """Start Triton and serve the models until SIGTERM or SIGINT. When Triton ends before, so does the process, with 1.

    Raises :class:`EnsembleError` when the table has a model that no repository of Triton has.

    ``grpc_url`` and ``http_url`` (``unix:PATH``) are where Triton will listen, and ``tritonserver`` starts it.
    """
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    listening = socket.create_server((host, port), backlog=1024)  # before Triton starts, or a port in use is seen late
    process = await asyncio.create_subprocess_exec(*tritonserver, preexec_fn=die_with_parent(adopt=True))
    watching = asyncio.create_task(_end_with(process))
    triton = Triton(grpc_url, http_url)
    runner = web.AppRunner(
        Gateway(table, triton, on_loopback=host == LOOPBACK).application,
        handler_cancellation=True,
        auto_decompress=False,
        access_log=None,
        lingering_time=_UNREAD_SECONDS,
        shutdown_timeout=_DRAIN_SECONDS,
    )
    try:
        await runner.setup()
        await web.SockSite(runner, listening, backlog=1024).start()
        looking = asyncio.create_task(_refuse_missing(table, triton))
        looking.add_done_callback(lambda task: None if task.cancelled() or not task.exception() else stopping.set())
        await stopping.wait()
        if looking.done():
            looking.result()
        looking.cancel()
    finally:
        await runner.cleanup()  # when the requests under way have been answered
        watching.cancel()
        await triton.close()
        await _end(process)


async def _refuse_missing(table: Table, triton: Triton) -> None:
    while (names := await triton.names()) is None:
        await asyncio.sleep(_LOOK_SECONDS)
    if missing := [str(model) for model in table.models if model.served not in names]:
        cure = f"correct the table, or add the model; Triton's repositories have {listed(names)}"
        raise EnsembleError(f"the table names {listed(missing)}, and Triton has no such model", cure=cure)


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
