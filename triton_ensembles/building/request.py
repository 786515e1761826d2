"""A request for one archive: what is built, where, and how it is proven."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from triton_ensembles.building.places import Places, Weights
from triton_ensembles.project.recipe.implied import Implied
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.targets import Target


class Proof(IntEnum):
    """How far an archive is tried in the server on this machine, which its target is for."""

    NONE = 0
    LOADS = 1  # it was loaded once
    ANSWERS = 2  # and each of its models has answered a request


@dataclass(frozen=True)
class BuildRequest:
    """An archive to build."""

    folder: Path  # the ensemble with its recipe, or the repository that implies one
    target: Target
    places: Places
    weights: Weights = field(default_factory=Weights)
    engines_from: Path | None = None  # a folder with TensorRT plans that were built on another machine
    proof: Proof = Proof.NONE  # asked of the archive before it takes the place of the previous one
    keep_locks: bool = False  # refuse to write or renew the locks of the environments
    origin: Path | None = None  # the repository that was imported into `folder` for this build alone
    written_for: Mapping[Path, Path] = field(default_factory=dict)  # environment files that were, by what they have
    implied: Implied | None = None  # the recipe of a repository that is packed as it is, for no target

    @property
    def name(self) -> str:
        return self.implied.name if self.implied else self.folder.name

    @property
    def form(self) -> str:
        """The folder of dist/ and build/ for archives of this target and image; "" for dist/ itself."""
        return "" if self.implied else self.places.form(self.target.name, self.target.image)

    @property
    def archive(self) -> Path:
        return self.places.archive(self.form, self.name)

    @property
    def repository(self) -> Path:
        """The staged repository that was packed; of an implied recipe, none is kept."""
        return self.places.repository(self.form, self.name)

    @property
    def state(self) -> Path:
        return self.places.state(self.form, self.name)

    @property
    def log(self) -> Path:
        """The log of the server that proves the archive."""
        return self.places.build / self.form / f"{self.name}.proof.log"

    @property
    def destination(self) -> Destination:
        return self.implied.destination if self.implied else self.target.destination

    @property
    def shown_as(self) -> Path:
        """The path of the archive in messages: a name alone where it lasts no longer than a local endpoint."""
        return Path(self.archive.name) if self.implied and not self.proof else self.archive
