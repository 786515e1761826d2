"""Standard input that a signal can end: pygls reads it in a thread, and a process waits for its threads at its end."""

import io
import os
import select
from typing import Any

from typing_extensions import override

_STDIN = 0


class StandardInput(io.RawIOBase):
    """The bytes of standard input until its end, or until :meth:`end` is called from another thread."""

    def __init__(self) -> None:
        self._woken, self._wake = os.pipe()

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        if self._woken in select.select([_STDIN, self._woken], [], [])[0]:
            return 0
        content = os.read(_STDIN, len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def end(self) -> None:
        """End the reading that is under way, and all later ones."""
        os.close(self._wake)
