"""What this run has created, so that a failure halfway leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

Progress = Callable[[str], object]  # is called with one line of text for each step


class Rollback:
    """Deletes what was added, the latest first, when the block ends with an exception (Ctrl-C is one too).

    A deletion that fails is reported and does not stop the others.

    Args:
        progress: is told what is deleted and what could not be deleted.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._created: list[tuple[str, Callable[[], object]]] = []

    def add(self, what: str, delete: Callable[[], object]) -> None:
        """Add a resource before it is requested: a request may have succeeded although its answer was lost.

        Args:
            what: its kind and name, as users are told.
            delete: deletes it, also where it does not exist.
        """
        self._created.append((what, delete))

    def __enter__(self) -> Rollback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        for what, delete in reversed(self._created):
            self._progress(f"rolling back: deleting the {what}")
            try:
                delete()
            except Exception as failure:
                self._progress(f"could not delete the {what}: {failure}")
