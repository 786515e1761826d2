"""The errors that users see.

Everything that a user can cause or fix is raised as an :class:`EnsembleError`. The command line prints it as one line
and exits 1. Any other exception is a bug of this project and keeps its traceback.
"""

import os
from pathlib import Path


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
        return f"{self._place}{self.message}" + (f"; {self.cure}" if self.cure else "")

    @property
    def headline(self) -> str:
        """What is wrong, on one line. Of a message of several lines these are the first two: the first of a list of
        faults is part of it."""
        return self._place + ": ".join(line.strip() for line in self.message.splitlines()[:2])

    @property
    def _place(self) -> str:
        if self.path is None:
            return ""
        return f"{shown(self.path)}:{self.line}: " if self.line else f"{shown(self.path)}: "


def shown(path: Path) -> str:
    """The path as a user would type it: relative to the working folder if it is inside."""
    try:
        return os.fspath(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(path)
