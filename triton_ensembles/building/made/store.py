"""The build store: every made file or folder, under the sha256 of everything that it was made from.

    build/store/<key>/<name>      the file or folder
    build/store/<key>/facts.json  the facts that its maker returned, and the file's own sha256

An entry appears by one rename, so it is complete or absent. The next build removes what a killed build left.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triton_ensembles.ground.files import content_digest, locked, read_json, remove_partials, size_of, write_whole

FACTS = "facts.json"


@dataclass(frozen=True)
class Entry:
    """A made file or folder, its :func:`content_digest` and the facts that its maker returned."""

    path: Path
    sha256: str
    facts: dict[str, Any]

    def record(self, kind: str) -> dict[str, Any]:
        """Return the record of an environment for the manifest."""
        return {"kind": kind, "sha256": self.sha256, "size": size_of(self.path), **self.facts}


class Store:
    """A folder of made files. Several processes may use it at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: set[str] = set()  # the keys that were asked for

    def get_or_make(
        self, key: str, name: str, make: Callable[[Path], dict[str, Any]], *, trusts: bool = False
    ) -> tuple[Entry, bool]:
        """The entry of ``key``, made by ``make(path) -> facts`` if it is missing, or its content no longer has the
        recorded sha256, which ``trusts`` does not read; and whether it was made just now."""
        self.used.add(key)
        place = self.folder / key
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / f"{key}.lock"):
            if entry := self._read(place, name, trusts=trusts):
                return entry, False
            remove_partials(place)
            shutil.rmtree(place, ignore_errors=True)
            with write_whole(place) as partial:
                partial.mkdir()
                facts = make(partial / name)
                sha256 = content_digest(partial / name)
                (partial / FACTS).write_text(json.dumps({"sha256": sha256, "facts": facts}, indent=2, sort_keys=True))
            return Entry(place / name, sha256, facts), True

    def _read(self, place: Path, name: str, *, trusts: bool) -> Entry | None:
        try:
            record = read_json(place / FACTS)
            if not trusts and content_digest(place / name) != record["sha256"]:
                return None
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return Entry(place / name, record["sha256"], record["facts"])
