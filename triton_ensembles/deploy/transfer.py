"""The bytes of an upload: counted, and stopped by Ctrl-C."""

import threading


class Stopped(Exception):  # noqa: N818
    """The upload is being stopped: nothing more is sent."""


class Meter:
    """Counts the bytes that have been sent and copied; stops those who send."""

    def __init__(self) -> None:
        self.sent = 0
        self.copied = 0
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    def note(self, sent: int = 0, *, copied: int = 0) -> None:
        with self._lock:
            self.sent += sent
            self.copied += copied

    def check(self) -> None:
        """Raises Stopped when nothing more is to be sent."""
        if self.stopping.is_set():
            raise Stopped("the upload was stopped")
