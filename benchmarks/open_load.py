"""Requests that come whether or not those before are answered: Poisson arrivals at many models of an endpoint."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp
import numpy as np

from benchmarks.contenders.local_endpoint import NAME
from triton_ensembles.deploy.payload import Payload
from triton_ensembles.hosting.triton_api import TARGET_MODEL

_NOT_READY = 429  # AWS's documentation: the client tries again
_PAUSE = 1.0  # before it does
_LONGEST = 600.0  # seconds of one request


@dataclass
class Outcome:
    """The fate of requests, in the order in which they came.

    Attributes:
        seconds: from the moment at which a request was to be sent until its answer.
        not_ready: answers of ModelNotReadyException, after each of which the request was sent again.
        failed: other answers that are not 200, with their status.
        late: seconds by which this client sent a request too late, the most of all.
    """

    seconds: list[float] = field(default_factory=list)
    not_ready: int = 0
    failed: list[str] = field(default_factory=list)
    late: float = 0.0


def arrivals(rates: Sequence[float], seconds: float, seed: int) -> tuple[list[float], list[int]]:
    """Times from 0 to ``seconds`` of a Poisson process, and the index of the model that each request is for.

    Args:
        rates: requests a second, by model.
    """
    random = np.random.default_rng(seed)
    weights = np.array(rates)
    count = random.poisson(weights.sum() * seconds)
    times = np.sort(random.uniform(0, seconds, count))
    return times.tolist(), random.choice(len(rates), count, p=weights / weights.sum()).tolist()


async def send_at(
    url: str, models: Sequence[str], payloads: Sequence[Payload], times: Sequence[float], indices: Sequence[int]
) -> Outcome:
    """Send the requests at their times, counted from now, and wait for all answers.

    Args:
        url: of the endpoint server.
        models: TargetModels.
        payloads: sent in turn.
        indices: of the model of each request.
    """
    outcome = Outcome([math.inf] * len(times))
    began = time.monotonic()

    async def send(session: aiohttp.ClientSession, number: int, due: float) -> None:
        outcome.late = max(outcome.late, time.monotonic() - due)
        payload = payloads[number % len(payloads)]
        headers = {"Content-Type": payload.content_type, TARGET_MODEL: models[indices[number]]}
        path = f"{url}/endpoints/{NAME}/invocations"
        while True:
            async with session.post(path, data=payload.body, headers=headers) as answer:
                body = await answer.read()
            if answer.status != _NOT_READY or time.monotonic() - due >= _LONGEST:
                break
            outcome.not_ready += 1
            await asyncio.sleep(_PAUSE)
        if answer.status != 200:
            outcome.failed.append(f"{answer.status}: {body[:300].decode(errors='replace')}")
        outcome.seconds[number] = time.monotonic() - due

    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session, asyncio.TaskGroup() as group:
        for number, due in enumerate(times):
            if (wait := began + due - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            group.create_task(send(session, number, began + due))
    return outcome
