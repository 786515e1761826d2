"""Recent events for the status page: a short list, and a way to wait for the next one."""

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

_KEPT = 30  # as many as the page shows


@dataclass(frozen=True)
class Event:
    """A line: the endpoint, the kind of event ("model-evicted", "InService", …) and a description."""

    endpoint: str
    kind: str
    text: str
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    times: int = 1  # how often it came in a row; ``time`` is the last one's


class RecentEvents:
    """The most recent events. ``latest`` has the newest first."""

    def __init__(self) -> None:
        self.latest: deque[Event] = deque(maxlen=_KEPT)
        self._added = asyncio.Event()

    def add(self, endpoint: str, kind: str, text: str) -> None:
        event = Event(endpoint, kind, text)
        if self.latest and replace(self.latest[0], time=event.time, times=1) == event:
            event = replace(event, times=self.latest.popleft().times + 1)
        self.latest.appendleft(event)
        self._added.set()
        self._added = asyncio.Event()

    async def wait_for_next(self, seconds: float) -> None:
        """Return when an event is added, or after ``seconds``."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._added.wait(), seconds)
