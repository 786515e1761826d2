"""Where a build reads and writes, by default in this checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.paths import BUILD, DIST, ENSEMBLES


@dataclass(frozen=True)
class Places:
    """Where a build reads and writes."""

    ensembles: Path
    build: Path
    dist: Path

    @property
    def store(self) -> Path:
        return self.build / "store"

    @property
    def downloads(self) -> Path:
        return self.build / "downloads"

    def repository(self, target: str, name: str) -> Path:
        return self.build / target / name

    def archive(self, target: str, name: str) -> Path:
        return self.dist / target / f"{name}.tar.gz"

    def state(self, target: str, name: str) -> Path:
        return self.build / target / f"{name}.state.json"


PLACES = Places(ENSEMBLES, BUILD, DIST)
