"""What happened lately, for people who watch: a short list, and a way to wait for the next entry."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime

_KEPT = 200


@dataclass(frozen=True)
class Entry:
    """One line: which endpoint, what kind of thing ("model-evicted", "InService", …), and in words."""

    endpoint: str
    kind: str
    text: str
    time: datetime = field(default_factory=lambda: datetime.now(UTC))


class Feed:
    """The last entries, the newest first."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=_KEPT)
        self._added = asyncio.Event()

    def add(self, endpoint: str, kind: str, text: str) -> None:
        self._entries.appendleft(Entry(endpoint, kind, text))
        self._added.set()
        self._added = asyncio.Event()

    def latest(self, count: int) -> list[Entry]:
        return list(self._entries)[:count]

    async def next(self, seconds: float) -> None:
        """Return when an entry is added, or after ``seconds``."""
        try:
            await asyncio.wait_for(self._added.wait(), seconds)
        except TimeoutError:
            return
