"""An endpoint whose image is the gateway's: several models of one archive, by name and version."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import pytest

from tests.endpoint.hosting.archives import packed
from tests.endpoint.hosting.conftest import Host, eventually
from tests.gateway.repository import files
from triton_ensembles.endpoint.hosting.errors import InternalFailure, ModelError
from triton_ensembles.ground.processes import children

pytestmark = pytest.mark.anyio

GATEWAY = {
    "mode": "SingleModel",
    "url": "s3://models/gateway.tar.gz",
    "image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/triton-ensembles-gateway:1",
}


async def ask(host: Host, name: str, **payload: Any) -> Any:
    body = json.dumps({"modelname": name, "payload": payload}).encode()
    return json.loads(await host.send(None, body))["result"]


async def test_models_answer_by_name_and_every_request_is_answered_while_triton_is_killed(host: Host) -> None:
    host.put("gateway.tar.gz", packed(files()))
    await host.start(**GATEWAY)
    assert await ask(host, "numbers", x=[1, 2]) == [2, 3]
    with pytest.raises(ModelError, match=r"there is no model 'nobody'.*404|404.*there is no model 'nobody'"):
        await ask(host, "nobody")

    answered, broken = 0, 0
    said: list[object] = []

    async def client(number: int) -> None:
        nonlocal answered, broken
        for value in range(50):
            try:
                assert await ask(host, "numbers", x=[value]) == [value + 1]
                answered += 1
            except (InternalFailure, ModelError) as error:  # it was under way
                assert "503" in error.message or "ended while it worked on the request" in error.message
                broken += 1
                said.append((number, value, error.message))
            if (number, value) == (0, 10):
                os.kill(children(host.pid())[0], signal.SIGKILL)

    await asyncio.gather(*map(client, range(4)))
    await eventually(lambda: host.variant.snapshot().instances[0].restarts == 1)
    assert broken <= 4 and answered == 200 - broken, said


async def test_an_archive_whose_table_is_missing_is_refused_by_that_name(host: Host) -> None:
    host.put("gateway.tar.gz", packed({path: content for path, content in files().items() if path != "models.toml"}))
    with pytest.raises(InternalFailure, match=r"models\.toml"):
        await host.start(**GATEWAY)
