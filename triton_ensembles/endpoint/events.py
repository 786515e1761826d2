"""Recent events for the status page."""

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

    def add(self, endpoint: str, kind: str, text: str) -> None:
        event = Event(endpoint, kind, text)
        if self.latest and replace(self.latest[0], time=event.time, times=1) == event:
            event = replace(event, times=self.latest.popleft().times + 1)
        self.latest.appendleft(event)
