"""The errors that users see.

Everything that a user can cause or fix is raised as an :class:`EnsembleError`. The command line prints it as one line
and exits 1, or 2 for a :class:`UsageError`. Any other exception is a bug of this project and keeps its traceback.
"""

import os
from pathlib import Path

_LONGEST_LINE = 2000  # letters


class EnsembleError(Exception):
    """A fault, its place and how to fix it.

    Args:
        message: what is wrong, one sentence without a period.
        path: the file or folder that it is about, if any.
        line: 1-based line in ``path``, if known.
        cure: how to fix it, one sentence without a period.
    """

    def __init__(
        self, message: str, *, path: str | os.PathLike[str] | None = None, line: int | None = None, cure: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = Path(path) if path is not None else None
        self.line = line
        self.cure = cure

    def __str__(self) -> str:
        cure = f"; {shortened(self.cure)}" if self.cure else ""
        return escaped(f"{self._place}{shortened(self.message)}{cure}", lines=True)

    @property
    def headline(self) -> str:
        """Return what is wrong, on one line. Of a message of several lines these are the first two: the first of a list
        of faults is part of it."""
        return escaped(self._place + ": ".join(line.strip() for line in self.message.splitlines()[:2]))

    @property
    def _place(self) -> str:
        if self.path is None:
            return ""
        return f"{shown(self.path)}:{self.line}: " if self.line else f"{shown(self.path)}: "


class UsageError(EnsembleError):
    """A command line names what does not exist: nothing has begun, and the exit code is 2."""


def shortened(text: str) -> str:
    """``text`` with the beginning and the end of each line, should a name or a value in it be endless."""
    if len(text) <= _LONGEST_LINE:
        return text
    half = _LONGEST_LINE // 2
    lines = (line if len(line) <= _LONGEST_LINE else f"{line[:half]}…{line[-half:]}" for line in text.split("\n"))
    return "\n".join(lines)


def escaped(text: str, *, lines: bool = False) -> str:
    """``text`` with escapes for what a terminal would obey or no encoding has: control characters, direction marks,
    bytes of a name that are not UTF-8. ``lines``: line breaks stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or (lines and letter == "\n") else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    number = ord(letter)
    if 0xDC80 <= number <= 0xDCFF:  # how Python holds a byte that is not UTF-8
        return f"\\x{number - 0xDC00:02x}"
    return letter.encode("unicode_escape").decode()


def shown(path: Path) -> str:
    """The path as a user would type it, escaped: relative to the working folder if it is inside."""
    try:
        return escaped(os.fspath(path.resolve().relative_to(Path.cwd())))
    except (ValueError, OSError, RuntimeError):  # of the last two, links that lead to themselves
        return escaped(os.fspath(path))
