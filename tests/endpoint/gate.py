"""A model whose answers wait until a test lets them go: what happens meanwhile does not depend on time."""

from __future__ import annotations

import time
from pathlib import Path

from tests.endpoint.hosting import archives

_EXECUTE = """if x[0]:
                open({asked!r}, "w").close()
                while not os.path.exists({opened!r}):
                    time.sleep(0.01)"""


class Gate:
    """One gate, with its files in ``folder``. A request with 0 passes at any time."""

    def __init__(self, folder: Path) -> None:
        self._asked, self._opened = folder / "asked", folder / "opened"

    def model(self, name: str) -> dict[str, bytes]:
        """The files of a model that gives X back as Y once the gate is open."""
        return archives.model(name, execute=_EXECUTE.format(asked=str(self._asked), opened=str(self._opened)))

    def wait_for_request(self) -> None:
        while not self._asked.exists():
            time.sleep(0.01)

    def open(self) -> None:
        self._opened.touch()
