"""The one family of errors that is meant for people.

Everything that a user can cause or mend is raised as an :class:`EnsembleError`. The command line prints it as one
line and exits 1. Anything else that escapes is a bug of this project and keeps its traceback.
"""

from __future__ import annotations

import os
from pathlib import Path


class EnsembleError(Exception):
    """A fault with its place and its cure.

    Args:
        message: what is wrong, in one sentence without a full stop.
        path: the file or folder it is about, if any.
        line: 1-based line in ``path``, if known.
        cure: what to do or write instead, in one sentence.
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
        place = ""
        if self.path is not None:
            place = f"{shown(self.path)}:{self.line}: " if self.line else f"{shown(self.path)}: "
        return f"{place}{self.message}" + (f"; {self.cure}" if self.cure else "")


def shown(path: Path) -> str:
    """The path as people typed it: relative to the working folder when it lies inside it."""
    try:
        return os.fspath(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(path)
