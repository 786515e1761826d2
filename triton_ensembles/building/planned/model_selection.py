"""Selects the file that each step loads on a target, and its backend.

The config in git names a backend. If the target has that backend, it runs the step; on the CPU, ``[engines.STEP]`` of
the recipe comes first. Otherwise the first file of the recipe is taken for which the target has a backend.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.artifact import Artifact
from triton_ensembles.project.recipe.artifact_kinds import INT8
from triton_ensembles.project.recipe.schema import Engine, Recipe
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.model_formats import MADE_FOR, PLATFORMS
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class SelectedModel:
    """The model file of a step, in each of its version folders."""

    files: tuple[Artifact, ...]  # of the same name, by version; the first one stands for all
    backend: str  # the backend that loads them
    engine: Engine | None  # the recipe's settings for the CPU, if it has any for this step and they apply to the target
    instead_of: str = ""  # the backend in git, when the target lacks it

    @property
    def file(self) -> Artifact:
        return self.files[0]

    @property
    def loads(self) -> str:
        """The name of the file that the backend loads: for OpenVINO, models are converted to its own format."""
        name = self.file.name
        return str(Path(name).with_suffix(".xml")) if self.backend == "openvino" else name


def select_models(recipe: Recipe, configs: Mapping[str, ModelConfig], target: Target) -> dict[str, SelectedModel]:
    """The model file of each step that has any, by step; a step of another backend, such as Python's, reads its files
    itself. Raises :class:`EnsembleError`: the target has no backend for any file of a step."""
    return {
        step: _select(recipe, step, config, target)
        for step, config in configs.items()
        if recipe.models_of(step) and (step in recipe.engines or written_backend(config) in {"", *MADE_FOR})
    }


def written_backend(config: ModelConfig) -> str:
    """The backend in git, also where the config only has its platform."""
    return config.backend or PLATFORMS.get(config.platform, "")


def with_needs(recipe: Recipe, artifacts: Iterable[Artifact]) -> tuple[Artifact, ...]:
    """``artifacts`` and everything that they are made from, in the recipe's order."""
    paths = {artifact.path for artifact in artifacts}
    for artifact in reversed(recipe.artifacts):
        if artifact.path in paths and artifact.needs:
            paths.add(artifact.needs)
    return tuple(artifact for artifact in recipe.artifacts if artifact.path in paths)


def _select(recipe: Recipe, step: str, config: ModelConfig, target: Target) -> SelectedModel:
    engine = recipe.engines.get(step) if target.chooses_engines else None
    written = written_backend(config)
    chosen = engine.backend if engine else written
    if chosen in target.backends and (file := recipe.model_for(step, chosen, engine.precision if engine else "fp32")):
        return SelectedModel(_in_all_versions(recipe, file), chosen, engine)
    for file in recipe.models_of(step):
        for backend in target.backends:
            if file.path.endswith(MADE_FOR[backend]) and file.maker != INT8:
                return SelectedModel(_in_all_versions(recipe, file), backend, engine, instead_of=written)
    lacks = f"it has no backend {chosen}, and the recipe makes no file for its backends ({', '.join(target.backends)})"
    message = f"{target.server} cannot run the step {step}: {lacks}"
    raise EnsembleError(message, cure="add [[artifacts]] in a format that one of them loads")


def _in_all_versions(recipe: Recipe, file: Artifact) -> tuple[Artifact, ...]:
    """``file`` of each version of its step. A config names one file for all versions."""
    files = tuple(model for model in recipe.models_of(file.step) if model.name == file.name)
    for model in recipe.models_of(file.step):
        if model.version not in {model.version for model in files}:
            message = f"version {model.version} of the step {file.step} has no {file.name}"
            cure = f"make {file.step}/{model.version}/{file.name} also: Triton loads the same file of each version"
            raise EnsembleError(f"{message}, which version {file.version} has", cure=cure)
    return files
