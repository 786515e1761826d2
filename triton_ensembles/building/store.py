"""The build store: every made file under the sha256 of all that went into it.

    build/store/<key>/<name>      the file
    build/store/<key>/facts.json  what its maker said of it, and the file's own sha256

An entry appears by one rename, so it is whole or absent. What a killed build left is removed by the next one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.files import file_digest, locked

FACTS = "facts.json"


@dataclass(frozen=True)
class Entry:
    """A made file, its sha256 and the facts that its maker returned."""

    path: Path
    sha256: str
    facts: dict[str, Any]


class Store:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_or_make(self, key: str, name: str, make: Callable[[Path], dict[str, Any]]) -> tuple[Entry, bool]:
        """The entry of ``key``, made by ``make(path) -> facts`` if need be; and whether it was made just now.

        A file whose content no longer has the recorded sha256 is made again.
        """
        place = self.folder / key
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / f"{key}.lock"):
            if entry := self._read(place, name):
                return entry, False
            partial = self.folder / f"{key}.partial"
            for leftover in (partial, place):
                shutil.rmtree(leftover, ignore_errors=True)
            partial.mkdir()
            try:
                facts = make(partial / name)
                record = {"sha256": file_digest(partial / name), "facts": facts}
                (partial / FACTS).write_text(json.dumps(record, indent=2, sort_keys=True))
                partial.replace(place)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            entry = self._read(place, name)
            assert entry is not None, "an entry that was just made can be read"
            return entry, True

    def _read(self, place: Path, name: str) -> Entry | None:
        try:
            record = json.loads((place / FACTS).read_text())
            if file_digest(place / name) != record["sha256"]:
                return None
        except (OSError, ValueError, KeyError):
            return None
        return Entry(place / name, record["sha256"], record["facts"])
