"""Starts and stops several instances or variants at the same time: what has ``start`` and ``stop``."""

import asyncio
from collections.abc import Iterable
from typing import Any


async def start_all(items: Iterable[Any]) -> None:
    """Start them all. When one fails, the others are canceled and its error is raised."""
    try:
        async with asyncio.TaskGroup() as starting:
            for item in items:
                starting.create_task(item.start())
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def stop_all(items: Iterable[Any]) -> None:
    """Stop them all. The first error is raised when each has stopped or failed to."""
    results = await asyncio.gather(*(item.stop() for item in items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
