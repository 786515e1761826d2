"""Where a build reads and writes: the folders of a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.files import locked
from triton_ensembles.ground.paths import COMMAND
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.location import ENSEMBLES
from triton_ensembles.project.settings import project_defaults
from triton_ensembles.triton.destination import Destination


@dataclass(frozen=True)
class Weights:
    """The values of --weights and --weights-dir, a folder of source files that the user already has."""

    weights: str = "auto"
    weights_dir: Path | None = None

    @property
    def allow_random(self) -> bool:
        """Return whether seeded random weights may stand in for a source that is not available."""
        return self.weights == "auto"


@dataclass(frozen=True)
class Places:
    """The folders of a build. ``image``: the release of the project's default image, "" without one."""

    ensembles: Path
    build: Path
    dist: Path
    image: str = ""

    @classmethod
    def of(cls, project: Path) -> Places:
        """The places of the project in the folder ``project``, the one that holds ensembles/."""
        project = project.resolve()
        named = Destination(image=project_defaults(project).get("image", ""))
        image = named.release_name if named.image_names_release else ""
        return cls(project / ENSEMBLES, project / "build", project / "dist", image)

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
        others = "builds that are running" if alone else f"{COMMAND} prune"
        with locked(self.build / ".building.lock", waiting, shared=not alone, others=others):
            yield

    def form(self, target: str, image: str) -> str:
        """The name under which builds for a target and an image are kept: ``fused``, or ``fused/26.05`` for another
        image than the project's default, beside whose archive it lies."""
        return f"{target}/{image}" if image and self.image and image != self.image else target

    def repository(self, target: str, name: str) -> Path:
        return self.build / target / name

    def archive(self, target: str, name: str) -> Path:
        return self.dist / target / f"{name}.tar.gz"

    def state(self, target: str, name: str) -> Path:
        return self.build / target / f"{name}.state.json"
