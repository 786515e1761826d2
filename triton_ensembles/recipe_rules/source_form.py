"""How a folder of ensembles/ differs from the repository that Triton reads.

* Its DAG is in a folder called ``ensemble``; the build stages it under the name of the whole folder and gives every
  step a name of its own, so shared names do no harm here.
* Files that the recipe makes are not in git, and neither is the empty version folder of an ensemble.
* The steps are written for the GPU target; the build rewrites ``instance_group`` and ``platform`` for the CPU.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from triton_ensembles.checking.extensions import SourceForm
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.toml_tables import line_naming
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.recipe_rules.environment_files import EnvironmentFiles
from triton_ensembles.triton.model_formats import MADE_FOR

if TYPE_CHECKING:
    from triton_ensembles.project.recipe.schema import Recipe
    from triton_ensembles.triton.requirements import Declared


@dataclass(frozen=True)
class SourceRecipe:
    """The result of a build of a ``folder``, as the recipe has it; one with ``faults`` is None, and the build may then
    make anything that is missing."""

    folder: Path
    text: str
    recipe: Recipe | None
    faults: tuple[EnsembleError, ...] = ()
    ensemble_folder = "ensemble"

    @cached_property
    def environments(self) -> EnvironmentFiles:
        """The environment files that the recipe names."""
        return EnvironmentFiles(self.folder.resolve().parent.parent, self.recipe)

    def line(self, name: str) -> int:
        """Return the line of the recipe that has ``name``, 0 for none."""
        return line_naming(self.text, [name]) or 0

    def parameters_of(self, model: str) -> dict[str, tuple[str, int]]:
        """Return the parameters that the build adds for every target."""
        added = self.recipe.parameters.get(model, {}) if self.recipe else {}
        return {key: (value, self.line(key)) for key, value in added.items()}

    def versions_of(self, model: str) -> set[str]:
        paths = [PurePosixPath(artifact.path).parts for artifact in self.recipe.artifacts] if self.recipe else []
        return {parts[1] for parts in paths if len(parts) > 2 and parts[0] == model and parts[1].isdecimal()}

    def makes_version_of(self, model: str) -> bool:
        return self.recipe is None or bool(self.versions_of(model))

    def makes_file_to_load(self, model: str, version: str, backend: str, names: Collection[str]) -> bool:
        if self.recipe is None:
            return True
        folder, changes = f"{model}/{version}/", backend in MADE_FOR
        inside = [artifact for artifact in self.recipe.artifacts if artifact.path.startswith(folder)]
        return any((changes and artifact.is_model) or artifact.path[len(folder) :] in names for artifact in inside)

    def makes(self, path: str) -> bool:
        if self.recipe is None:
            return True
        return any(artifact.path == path or artifact.path.startswith(f"{path}/") for artifact in self.recipe.artifacts)

    def makes_model_for(self, model: str, backends: Collection[str]) -> bool:
        if self.recipe is None:
            return True
        return any(self.recipe.model_for(model, backend) for backend in backends)

    def gives_environment(self, model: str) -> bool:
        if self.recipe is None:
            return True
        return any(model in environment.steps for environment in self.recipe.environments.values())

    def python_of(self, model: str) -> str:
        pythons = (file.spec.python for file in self.environments.files() if model in file.environment.steps)
        return next(filter(None, pythons), "") or ""


class _RecipeForm:
    """The folders with a recipe."""

    recipe = RECIPE

    def read(self, text: str | None, folder: Path) -> SourceRecipe:
        if text is None:
            message = "this recipe cannot be read: it is not a file, or longer than a recipe may be"
            return SourceRecipe(
                folder, "", None, (EnsembleError(message, cure="write it as a text file, and shorten it"),)
            )
        from triton_ensembles.project.recipe.reader import recipe_and_faults  # pydantic; few repositories have a recipe

        recipe, faults = recipe_and_faults(text, Path(RECIPE))
        return SourceRecipe(folder, text, recipe, tuple(faults))

    def declared(self, folder: Path) -> Declared | None:
        from triton_ensembles.project.declared import packages_for  # PyYAML; most steps import nothing

        return packages_for(folder)


SOURCE_FORM: SourceForm = _RecipeForm()
