"""What this run has made, so that a failure half-way leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

Say = Callable[[str], object]


class Undo:
    """Removes what was noted, the latest first, when the block ends by an exception (Ctrl-C is one too).

    A removal that fails is told and does not stop the others.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._made: list[tuple[str, Callable[[], object]]] = []

    def made(self, what: str, remove: Callable[[], object]) -> None:
        """Note it before it is asked for: a request may have succeeded though its answer was lost."""
        self._made.append((what, remove))

    def __enter__(self) -> Undo:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        for what, remove in reversed(self._made):
            self._say(f"removing the {what} again")
            try:
                remove()
            except Exception as failure:
                self._say(f"this could not be removed: the {what}: {failure}")
