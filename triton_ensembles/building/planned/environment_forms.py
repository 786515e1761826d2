"""Where an environment lies in an archive, and how its steps name it.

* folder: ``environment/`` in the folder of its first step; the others refer to it there. A folder beside the models
  would be taken for a model.
* wheels: no environment, only the packages' files beside model.py.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.schema import Environment, Recipe
from triton_ensembles.triton.model_config import ModelConfig
from triton_ensembles.triton.releases import version
from triton_ensembles.triton.targets import Target

_PARAMETER = "EXECUTION_ENV_PATH"
_MODEL_FOLDER = "$$TRITON_MODEL_DIRECTORY"
_BESIDE = re.compile(rf"({re.escape(_MODEL_FOLDER)}/+\.\./+)([^/]+)")
_FOLDER = "environment"
_TAKES_FOLDERS = (23, 7)  # python_backend #266


def refuse_old_image(recipe: Recipe, target: Target) -> None:
    """Raises :class:`EnsembleError`: the recipe has a packed environment, and the release takes none as a folder."""
    packed = [name for name, environment in recipe.environments.items() if environment.kind == "folder"]
    if packed and not target.fuses and version(target.release.release) < _TAKES_FOLDERS:
        cure = 'build for an image since 23.07, or write kind = "wheels" for packages that wheels bring'
        raise EnsembleError(f"{target.server} takes no environment as a folder, and {packed[0]} is one", cure=cure)


def environment_member(environment: Environment, models: Mapping[str, str]) -> str:
    """The path of a packed environment in the archive. ``models`` are the names of the models by step."""
    return f"{models[environment.steps[0]]}/{_FOLDER}"


def execution_env_path(step: str, environment: Environment, models: Mapping[str, str]) -> str:
    """EXECUTION_ENV_PATH of ``step``; "" if it needs none."""
    if environment.kind == "wheels":
        return ""
    if step == environment.steps[0]:
        return f"{_MODEL_FOLDER}/{_FOLDER}"
    return f"{_MODEL_FOLDER}/../{environment_member(environment, models)}"


def rename_beside(config: ModelConfig, models: Mapping[str, str]) -> None:
    """Let a config that names an environment in the folder of another step name it under that step's new name."""
    if _PARAMETER in config.parameters:
        value = config.parameters[_PARAMETER]
        renamed = _BESIDE.sub(lambda match: match[1] + models.get(match[2], match[2]), value.string_value, count=1)
        value.string_value = renamed


def environments_beside(folder: Path, configs: Mapping[str, ModelConfig]) -> Iterator[Path]:
    """The environments in ``folder`` itself, and in no model's, that configs name."""
    named = {
        match[2]
        for config in configs.values()
        if _PARAMETER in config.parameters and (match := _BESIDE.match(config.parameters[_PARAMETER].string_value))
    }
    models = {config.name for config in configs.values()}
    yield from (folder / name for name in sorted(named - models) if (folder / name).exists())
