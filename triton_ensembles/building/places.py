"""Where a build reads and writes: the folders of a project, by default of this checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.paths import ROOT


@dataclass(frozen=True)
class Places:
    """Where a build reads and writes.

    Attributes:
        root: what the paths in recipes (envs/…, pipelines/…) are relative to.
    """

    ensembles: Path
    build: Path
    dist: Path
    root: Path = ROOT

    @classmethod
    def of(cls, project: Path) -> Places:
        """The places of the project in the folder ``project``, the one that holds ensembles/."""
        project = project.resolve()
        return cls(project / "ensembles", project / "build", project / "dist", project)

    @property
    def reports(self) -> Path:
        return self.root / "reports"

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


PLACES = Places.of(ROOT)
