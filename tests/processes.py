"""Processes that tests look for, and what they wait for: processes that end, and whatever else becomes true."""

import asyncio
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from triton_ensembles.ground.processes import command_line, descendants


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def started_by(pid: int, *words: str) -> list[int]:
    """Find the descendants of a process that have all of these words in their command lines."""
    lines = {each: command_line(each) for each in descendants(pid)}
    return [each for each, line in lines.items() if all(word in line for word in words)]


def wait_for_end(pids: list[int], seconds: float = 300) -> list[int]:
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def wait_until(true: Callable[[], object], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.02)


async def eventually(true: Callable[[], object], seconds: float = 300) -> None:
    """Wait as :func:`wait_until` does, while the event loop goes on."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)


def environments_of(pids: list[int]) -> set[Path]:
    """The folders below /tmp into which Triton has extracted packed environments for these processes."""
    found: set[bytes] = set()
    for pid in pids:
        with suppress(OSError):  # it has ended
            found.update(re.findall(rb"/tmp/python_env_\w+", Path(f"/proc/{pid}/environ").read_bytes()))
    return {Path(os.fsdecode(each)) for each in found}
