"""Where a build reads and writes: the folders of a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.files import shared
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.location import ENSEMBLES


@dataclass(frozen=True)
class Places:
    """Where a build reads and writes."""

    ensembles: Path
    build: Path
    dist: Path

    @classmethod
    def of(cls, project: Path) -> Places:
        """The places of the project in the folder ``project``, the one that holds ensembles/."""
        project = project.resolve()
        return cls(project / ENSEMBLES, project / "build", project / "dist")

    @property
    def root(self) -> Path:
        """Folder that the paths in recipes (envs/…, pipelines/…) are relative to."""
        return self.ensembles.parent

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def store(self) -> Path:
        return self.build / "store"

    @property
    def downloads(self) -> Path:
        return self.build / "downloads"

    @contextmanager
    def building(self, waiting: Progress, *, alone: bool = False) -> Iterator[None]:
        """Keep what is in the store and the downloads from being removed; ``alone``: keep all others from building."""
        with shared(self.build / ".building.lock", waiting, alone=alone):
            yield

    def repository(self, target: str, name: str) -> Path:
        return self.build / target / name

    def archive(self, target: str, name: str) -> Path:
        return self.dist / target / f"{name}.tar.gz"

    def state(self, target: str, name: str) -> Path:
        return self.build / target / f"{name}.state.json"
