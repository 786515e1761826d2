"""Bytes of a file on their way to S3: read while they are sent, counted, and stopped by Ctrl-C."""

import io
import threading
from pathlib import Path


class Stopped(Exception):  # noqa: N818
    """The upload is being stopped: nothing more is sent."""


class Meter:
    """Counts the bytes that have been sent and copied; stops those who send."""

    def __init__(self) -> None:
        self.sent = 0
        self.copied = 0
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    def note(self, *, sent: int = 0, copied: int = 0) -> None:
        with self._lock:
            self.sent += sent
            self.copied += copied

    def check(self) -> None:
        """Raises Stopped when nothing more is to be sent."""
        if self.stopping.is_set():
            raise Stopped("the upload was stopped")


class Range(io.RawIOBase):
    """``length`` bytes of a file from ``start`` on, as the body of a request: it never is in memory as a whole."""

    def __init__(self, path: Path, start: int, length: int, meter: Meter) -> None:
        self._file = path.open("rb")
        self._start, self._length, self._meter = start, length, meter
        self._file.seek(start)

    def __len__(self) -> int:
        return self._length

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        self._meter.check()
        left = self._length - self.tell()
        return self._file.read(left if size is None or size < 0 else min(size, left))

    def tell(self) -> int:
        return self._file.tell() - self._start

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._length}[whence]
        self._file.seek(self._start + min(max(0, base + offset), self._length))
        return self.tell()

    def close(self) -> None:
        self._file.close()
        super().close()
