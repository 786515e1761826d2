"""How long work reports what it is doing."""

import time
from collections.abc import Callable

Progress = Callable[[str], object]
"""Called with one line of text for people, without a line break."""


class Paced:
    """Reports a line, but no more than one in two seconds."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._reported = progress, time.monotonic()

    def __call__(self, line: Callable[[], str]) -> None:
        if time.monotonic() - self._reported >= 2.0:
            self._reported = time.monotonic()
            self._progress(line())
