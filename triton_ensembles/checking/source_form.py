"""How a folder of ensembles/ differs from the repository that Triton reads.

* Its DAG is in a folder called ``ensemble``; the build stages it under the name of the whole folder and gives every
  step a name of its own, so shared names do no harm here.
* Files that the recipe makes are not in git, and neither is the empty version folder of an ensemble.
* The steps are written for the GPU target; the build rewrites ``instance_group`` and ``platform`` for the CPU.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.triton.model_formats import MADE_FOR
from triton_ensembles.triton.targets import GPU_BACKENDS

if TYPE_CHECKING:
    from triton_ensembles.project.recipe.schema import Recipe

ENSEMBLE_FOLDER = "ensemble"


@dataclass(frozen=True)
class SourceRecipe:
    """The files that are missing in git, as the recipe makes them; one with ``faults`` is None, and the build may then
    make anything that is missing."""

    recipe: Recipe | None
    faults: tuple[EnsembleError, ...] = ()

    def versions_of(self, model: str) -> set[str]:
        """The version folders of ``model`` that the build puts a file into."""
        paths = [PurePosixPath(artifact.path).parts for artifact in self.recipe.artifacts] if self.recipe else []
        return {parts[1] for parts in paths if len(parts) > 2 and parts[0] == model and parts[1].isdecimal()}

    def makes_file_to_load(self, model: str, version: str, backend: str, names: Collection[str]) -> bool:
        """Whether the build puts a file that the ``backend`` of ``model`` loads into the folder ``version``: one of
        ``names``, or a model file of another engine, to which the build changes it."""
        if self.recipe is None:
            return True
        folder, changes = f"{model}/{version}/", backend in MADE_FOR
        inside = [artifact for artifact in self.recipe.artifacts if artifact.path.startswith(folder)]
        return any((changes and artifact.is_model) or artifact.path[len(folder) :] in names for artifact in inside)

    def makes(self, path: str) -> bool:
        """Whether the build makes the file, or something in the folder, at ``path`` (``dali/1/model.dali``)."""
        if self.recipe is None:
            return True
        return any(artifact.path == path or artifact.path.startswith(f"{path}/") for artifact in self.recipe.artifacts)

    def makes_model_for(self, model: str, image_backends: Collection[str]) -> bool:
        """Whether the build makes a file of ``model`` that an image with these backends can load; it then changes the
        backend in config.pbtxt."""
        if self.recipe is None:
            return True
        backends = [backend for backend in GPU_BACKENDS if backend in image_backends]
        return any(self.recipe.model_for(model, backend) for backend in backends)


def read_source_recipe(text: str | None) -> SourceRecipe:
    """The recipe in ``text``, valid or not; None is one that was not kept, about which nothing else can be said."""
    if text is None:
        message = "this recipe cannot be read: it is not a file, or longer than a recipe may be"
        return SourceRecipe(None, (EnsembleError(message, cure="write it as a text file, and shorten it"),))
    from triton_ensembles.project.recipe.reader import recipe_and_faults  # pydantic; most repositories have no recipe

    recipe, faults = recipe_and_faults(text, Path(RECIPE))
    return SourceRecipe(recipe, tuple(faults))
