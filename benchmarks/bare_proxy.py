"""The floor of a hop: a reverse proxy of aiohttp and uvloop that passes requests on and does nothing else.

python -m benchmarks.bare_proxy 127.0.0.1:8000        prints its own address
"""

import asyncio
import sys

import aiohttp
import uvloop
from aiohttp import web

from triton_ensembles.server.ports import LOOPBACK

_HEADERS = ("Content-Type", "Inference-Header-Content-Length")


async def _serve(target: str) -> None:
    # Asked for what aiohttp accepts by itself, tritonserver would compress its answers.
    async with aiohttp.ClientSession(f"http://{target}", skip_auto_headers=["Accept-Encoding"]) as session:

        async def handle(request: web.BaseRequest) -> web.Response:
            headers = {name: request.headers[name] for name in _HEADERS if name in request.headers}
            body = await request.read()
            async with session.request(request.method, request.raw_path, data=body, headers=headers) as answer:
                kept = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
                return web.Response(status=answer.status, body=await answer.read(), headers=kept)

        runner = web.ServerRunner(web.Server(handle, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, 0).start()
        print("{}:{}".format(*runner.addresses[0]), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1]))
