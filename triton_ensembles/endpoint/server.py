"""Starts and stops the server: its port, folders and processes, all of which are removed at the end."""

from collections.abc import Callable

import aiohttp

from triton_ensembles.endpoint.aws_services.process import s3_process
from triton_ensembles.endpoint.platform import Platform
from triton_ensembles.endpoint.settings import Settings
from triton_ensembles.hosting.http_server import answering, listen, stop_signals, working_folders
from triton_ensembles.server.ports import LOOPBACK


async def serve_endpoint(settings: Settings, ready: Callable[[str], None], stopping: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; then let running requests end and remove everything but the logs.

    To be run in the main thread, which outlives all tritonservers: the kernel ends them with the thread that started
    them. Raises EnsembleError when another process uses the port or the working folder, or the tritonserver is missing.

    Args:
        ready: called with the URL as soon as the server answers.
        stopping: called when the signal has arrived.
    """
    stop_requested = stop_signals()
    s3 = settings.scratch / "s3"
    with listen(LOOPBACK, settings.port, "--port") as listener:
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        async with working_folders(settings.root, settings.scratch, settings.logs, "platform.log"):
            s3.mkdir(exist_ok=True)
            async with (
                s3_process(s3, settings.logs / "s3.log", settings.region) as backing,
                aiohttp.ClientSession(
                    headers=backing.headers,
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
                    connector=aiohttp.TCPConnector(limit=0),
                    auto_decompress=False,
                ) as session,
            ):
                platform = Platform(settings, url, backing, session)
                async with answering(listener, platform.router.handle, platform.stop):  # which answers 503 meanwhile
                    ready(url)
                    await stop_requested.wait()
                    stopping()
