"""Which of its files a step loads on a target, and in which backend.

The config in git names a backend. Where the target has it, that is it (on the CPU the recipe's ``[engines.STEP]`` has
its say first); where it does not, the first file of the recipe for which the target has a backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from triton_ensembles.building.recipe import MODEL_FILES, Artifact, Engine, Recipe
from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.backends import PLATFORMS
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class Chosen:
    """What runs a step: ``file`` in ``backend``; ``instead_of`` is git's backend where the target lacks it."""

    file: Artifact
    backend: str
    engine: Engine | None
    instead_of: str = ""


def choose_models(recipe: Recipe, configs: Mapping[str, ModelConfig], target: Target) -> dict[str, Chosen]:
    """What runs each step that has a model file, by step. Raises :class:`EnsembleError` when nothing can."""
    return {step: _choose(recipe, step, config, target) for step, config in configs.items() if recipe.models_of(step)}


def artifacts_for(recipe: Recipe, chosen: Mapping[str, Chosen]) -> tuple[Artifact, ...]:
    """What is staged: of each step's model files the chosen one, and everything else."""
    return tuple(each for each in recipe.artifacts if not each.is_model or chosen[each.step].file == each)


def with_needs(recipe: Recipe, artifacts: Iterable[Artifact]) -> tuple[Artifact, ...]:
    """``artifacts`` and all that they are made from, in the recipe's order."""
    wanted = {each.path for each in artifacts}
    for each in reversed(recipe.artifacts):
        if each.path in wanted and each.needs:
            wanted.add(each.needs)
    return tuple(each for each in recipe.artifacts if each.path in wanted)


def _choose(recipe: Recipe, step: str, config: ModelConfig, target: Target) -> Chosen:
    engine = recipe.engines.get(step) if target.chooses_engines else None
    written = config.backend or PLATFORMS.get(config.platform, "")
    wanted = engine.backend if engine else written
    if wanted in target.backends and (file := recipe.model_for(step, wanted)):
        return Chosen(file, wanted, engine)
    for file in recipe.models_of(step):
        for backend in target.backends:
            if file.path.endswith(MODEL_FILES[backend]):
                return Chosen(file, backend, engine, instead_of=written)
    raise EnsembleError(
        f"{step} is for the backend {wanted}, which {target.name} {target.image} has not, and the recipe makes no file "
        f"for one of its others ({', '.join(target.backends)})".replace("  ", " "),
        cure="add an [[artifacts]] in a format that one of them loads",
    )
