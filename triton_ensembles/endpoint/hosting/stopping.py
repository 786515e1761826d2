"""Stopping several things, of which none depends on another's success."""

import asyncio
from collections.abc import Iterable
from typing import Protocol


class Stoppable(Protocol):
    async def stop(self) -> None: ...


async def stop_all(running: Iterable[Stoppable]) -> None:
    """Stop them all at the same time. The first error is raised when each has stopped or failed to."""
    results = await asyncio.gather(*(item.stop() for item in running), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
