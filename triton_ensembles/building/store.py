"""The build store: every made file, under the sha256 of everything that it was made from.

    build/store/<key>/<name>      the file
    build/store/<key>/…           files that its maker wrote beside it, if any
    build/store/<key>/facts.json  the facts that its maker returned, and the sha256 of each file

An entry appears by one rename, so it is complete or absent. The next build removes what a killed build left.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triton_ensembles.files import file_digest, locked, remove_partials, write_whole

FACTS = "facts.json"


@dataclass(frozen=True)
class Entry:
    """A made file, its sha256, the facts that its maker returned, and the sha256 of the files beside it by name."""

    path: Path
    sha256: str
    facts: dict[str, Any]
    beside: dict[str, str] = field(default_factory=dict)


class Store:
    """A folder of made files. Several processes may use it at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_or_make(self, key: str, name: str, make: Callable[[Path], dict[str, Any]]) -> tuple[Entry, bool]:
        """The entry of ``key``, made by ``make(path) -> facts`` if it is missing; and whether it was made just now.

        ``make`` may write other files into the folder of ``path``. If the content of any no longer has the recorded
        sha256, all are made again.
        """
        place = self.folder / key
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / f"{key}.lock"):
            if entry := self._read(place, name):
                return entry, False
            remove_partials(place)
            shutil.rmtree(place, ignore_errors=True)
            with write_whole(place) as partial:
                partial.mkdir()
                facts = make(partial / name)
                written = {path.name: file_digest(path) for path in sorted(partial.iterdir())}
                record = {"sha256": written.pop(name), "beside": written, "facts": facts}
                (partial / FACTS).write_text(json.dumps(record, indent=2, sort_keys=True))
            entry = self._read(place, name)
            assert entry is not None, "an entry that was just made can be read"
            return entry, True

    def _read(self, place: Path, name: str) -> Entry | None:
        try:
            record = json.loads((place / FACTS).read_text())
            beside = record.get("beside", {})
            for written, sha256 in {name: record["sha256"], **beside}.items():
                if file_digest(place / written) != sha256:
                    return None
        except (OSError, ValueError, KeyError):
            return None
        return Entry(place / name, record["sha256"], record["facts"], beside)
