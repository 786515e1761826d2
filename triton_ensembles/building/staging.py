"""Stage an ensemble: from the folder that people wrote to the model repository that Triton loads.

Step names get the ensemble's name in front (``preprocess`` of ``bert_trt`` becomes ``bert_trt.preprocess``), in folder,
config and DAG alike: same-named steps in two archives of one endpoint reload each other. The ensemble itself gets the
name of its folder. Artifacts and the packed environment are put in place, and the target's differences applied.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.building.config_rewrite import adapt
from triton_ensembles.building.model_selection import choose_models
from triton_ensembles.building.recipe import RECIPE, Recipe
from triton_ensembles.errors import EnsembleError
from triton_ensembles.examples.folder import examples_folder
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config, read_config
from triton_ensembles.triton.targets import Target

STUB = "triton_python_backend_stub"


@dataclass(frozen=True)
class StagedEnvironment:
    """A packed environment, and the stub of its Python when the server's is another."""

    packed: Path
    stub: Path | None


def read_models(folder: Path) -> dict[str, ModelConfig]:
    """The configs of a model repository by folder name. Raises :class:`EnsembleError` when there is none."""
    configs = {path.parent.name: read_config(path) for path in sorted(folder.glob(f"*/{CONFIG}"))}
    if not configs:
        raise EnsembleError(f"no model here: no sub-folder has a {CONFIG}", path=folder)
    return configs


def find_ensemble(folder: Path, configs: Mapping[str, ModelConfig]) -> str:
    """The one model of the repository that is an ensemble."""
    names = [name for name, config in configs.items() if config.platform == "ensemble"]
    if len(names) != 1:
        found = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise EnsembleError(f'exactly one model must have platform: "ensemble", found {found}', path=folder)
    return names[0]


def stage(
    folder: Path,
    destination: Path,
    *,
    name: str,
    recipe: Recipe,
    target: Target,
    artifacts: Mapping[str, Path],
    environments: Mapping[str, StagedEnvironment],
) -> None:
    """Write the staged repository of the ensemble in ``folder`` into the empty folder ``destination``.

    Args:
        name: the ensemble's name, and what its steps' names begin with.
        artifacts: made files by the path that the recipe gives them (``bert-trt/1/model.onnx``).
        environments: packed environments by the recipe's name.
    """
    configs = staged_configs(folder, name, recipe, target)
    examples = examples_folder(folder)
    for step, config in configs.items():
        place = destination / config.name
        place.mkdir(parents=True)
        for wanted, environment in environments.items():
            if step in recipe.environments[wanted].steps and environment.stub is not None:
                shutil.copy2(environment.stub, place / STUB)
        for source in _written_by_people(folder / step, examples):
            copy = place / source.relative_to(folder / step)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
        (place / CONFIG).write_text(format_config(config), encoding="utf-8")
    for path, made in artifacts.items():
        step, inner = path.split("/", 1)
        _place(made, destination / configs[step].name / inner)
    for wanted, environment in environments.items():
        _place(environment.packed, destination / member_of(wanted))


def staged_configs(folder: Path, name: str, recipe: Recipe, target: Target) -> dict[str, ModelConfig]:
    """The configs as Triton will read them, by the names that the steps have in git."""
    configs = read_models(folder)
    ensemble = find_ensemble(folder, configs)
    names = {step: name if step == ensemble else f"{name}.{step}" for step in configs}
    _refuse_unknown_steps(folder, recipe, configs)
    chosen = choose_models(recipe, configs, target)
    for step, config in configs.items():
        config.name = names[step]
        if step == ensemble:
            for use in config.ensemble_scheduling.step:
                use.model_name = names.get(use.model_name, use.model_name)
        else:
            adapt(config, chosen.get(step), target)
        parameters = recipe.parameters.get(step, {})
        if target.image:
            parameters = parameters | recipe.gpu.parameters.get(step, {})
        for wanted, environment in recipe.environments.items():
            if step in environment.steps:
                # One file for all steps: Triton extracts a path once, and an archive carries it once.
                path = f"$$TRITON_MODEL_DIRECTORY/../{member_of(wanted)}"
                parameters = parameters | {"EXECUTION_ENV_PATH": path}
        for key, value in parameters.items():
            config.parameters[key].string_value = value
    return configs


def member_of(environment: str) -> str:
    """The packed environment's name at the archive's root."""
    return f"{environment}_env.tar.gz"


def _refuse_unknown_steps(folder: Path, recipe: Recipe, configs: Mapping[str, ModelConfig]) -> None:
    named = {artifact.step for artifact in recipe.artifacts} | set(recipe.engines)
    named |= set(recipe.parameters) | set(recipe.gpu.parameters)
    named |= {step for environment in recipe.environments.values() for step in environment.steps}
    for step in sorted(named - set(configs)):
        raise EnsembleError(
            f"the recipe names the step {step!r}", path=folder / RECIPE, cure=f"the folder has {', '.join(configs)}"
        )


def _written_by_people(step: Path, examples: Path) -> Iterator[Path]:
    for path in sorted(step.rglob("*")):
        served = "__pycache__" not in path.parts and not path.is_relative_to(examples)
        if path.is_file() and served and path != step / CONFIG:
            yield path


def _place(source: Path, destination: Path) -> None:
    """A hard link where the file system can (weights are large), else a copy."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), destination)
    except OSError:
        shutil.copy2(source, destination)
