"""The model repository of each candidate: its sources are edited copies, staged by the build itself."""

import shutil
from pathlib import Path

from triton_ensembles.building.build import stage_written
from triton_ensembles.building.packed.staging import place
from triton_ensembles.building.places import Weights
from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.measuring.tuning.search import RejectedError
from triton_ensembles.measuring.tuning.space import Candidate
from triton_ensembles.measuring.tuning.subject import Subject


class Variants:
    """Stages candidates side by side in one model repository, each under names of its own.

    Attributes:
        scratch: the folder of all that is made for the search.
        repository: the folder in it with the models of all staged candidates.

    Args:
        scratch: an empty folder on the file system of the build's store, so that large files are linked.
    """

    def __init__(self, subject: Subject, scratch: Path, weights: Weights) -> None:
        places = subject.places
        self.scratch, self.repository = scratch, scratch / ".models"
        self._sources, self._ensemble = scratch / places.ensembles.name, subject.plan.folder
        self._target, self._places, self._files = subject.plan.target, places, subject.files
        self._weights = weights
        self._names: dict[Candidate, str] = {}
        self.repository.mkdir(parents=True)
        own = {places.ensembles.name, places.build.name, places.dist.name}
        for path in places.root.iterdir():  # what recipes name, where `check` looks for it
            if path.name not in own and not path.name.startswith("."):
                (scratch / path.name).symlink_to(path)

    def stage(self, candidate: Candidate) -> str:
        """The name of the ensemble that has the candidate's settings, staged once.
        Raises :class:`RejectedError`: its files cannot be edited that way, or the build refuses them."""
        if candidate not in self._names:
            name = f"{self._ensemble.name}_{len(self._names)}"
            self._names[candidate] = name
            try:
                source = self._copy(candidate, name)
                refuse_faults(source, self._target.destination, f"{name} has faults")
                request = BuildRequest(source, self._target, self._places, self._weights)
                stage_written(request, self.repository, lambda _: None)
            except EnsembleError as error:
                raise RejectedError(" ".join(str(error).split())) from error
        return self._names[candidate]

    def name(self, candidate: Candidate) -> str:
        """The name of a candidate that was staged."""
        return self._names[candidate]

    def _copy(self, candidate: Candidate, name: str) -> Path:
        folder = self._sources / name
        shutil.copytree(self._ensemble, folder, copy_function=lambda *paths: place(*map(Path, paths)))
        for path, text in self._files.edited(candidate).items():
            edited = folder / path.relative_to(self._ensemble)
            edited.unlink()
            edited.write_bytes(text.encode())
        return folder
