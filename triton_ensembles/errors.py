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
        place = ""
        if self.path is not None:
            place = f"{shown(self.path)}:{self.line}: " if self.line else f"{shown(self.path)}: "
        return f"{place}{self.message}" + (f"; {self.cure}" if self.cure else "")


def shown(path: Path) -> str:
    """The path as a user would type it: relative to the working folder if it is inside."""
    try:
        return os.fspath(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(path)
