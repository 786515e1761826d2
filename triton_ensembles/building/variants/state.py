"""State of a folder of variants: the inputs of each, so that only what has changed is written again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triton_ensembles.building.variants.own_files import Identity
from triton_ensembles.ground.files import parse_json, write_file


@dataclass
class VariantsState:
    """The state of the folder's variants of one archive. ``path``: of the file that keeps it."""

    path: Path
    _rows: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path, ensemble: str) -> VariantsState:
        path = folder / f".{ensemble}.variants.json"
        try:
            rows = parse_json(path.read_bytes())
        except (OSError, ValueError):
            rows = {}
        valid = isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values())
        return cls(path, rows if valid else {})

    def known_digest(self, name: str, inner: str, identity: Identity) -> str | None:
        """The sha256 of a file that has not been touched since it was taken."""
        facts = self._rows.get(name, {}).get("files", {}).get(inner)
        return facts[-1] if isinstance(facts, list) and facts[:-1] == list(identity) else None

    def is_current(self, name: str, inputs: str, archive: Path) -> bool:
        """Return whether ``archive`` is there as it was written from these inputs."""
        row = self._rows.get(name, {})
        return (row.get("inputs"), row.get("archive")) == (inputs, _stamp(archive))

    def note(self, name: str, inputs: str, archive: Path, files: Mapping[str, tuple[Identity, str]]) -> None:
        self._rows[name] = {
            "inputs": inputs,
            "archive": _stamp(archive),
            "files": {inner: [*identity, sha256] for inner, (identity, sha256) in files.items()},
        }

    def save(self) -> None:
        write_file(self.path, json.dumps(self._rows, sort_keys=True))


def _stamp(archive: Path) -> list[int] | None:
    try:
        status = archive.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ino]
