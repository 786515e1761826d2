"""The plan of a build: what is made and staged for a target, decided once, before anything is downloaded or made.

It is read from the folder of an ensemble as people write it: ensembles/NAME, a model repository and its recipe.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from triton_ensembles.building.planned.config_rewrite import built_names, rewrite_configs
from triton_ensembles.building.planned.environment_forms import refuse_old_image
from triton_ensembles.building.planned.model_selection import SelectedModel, select_models
from triton_ensembles.checking.ensemble_steps import step_names
from triton_ensembles.checking.python.model_calls import calls_between
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.place import FOLDER as EXAMPLES
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.project.recipe.artifact import Artifact
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.reader import read_recipe
from triton_ensembles.project.recipe.schema import Recipe
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config
from triton_ensembles.triton.targets import Target


@dataclass(frozen=True)
class BuildPlan:
    """Plans an ensemble for a target."""

    folder: Path  # the ensemble's folder in git. Its name is the ensemble's name.
    root: Path  # the folder of the project, which paths in the recipe are relative to
    target: Target
    recipe: Recipe
    selected: Mapping[str, SelectedModel]  # the files and the backend of each step that has a model file, by step
    artifacts: tuple[Artifact, ...]  # what is made and staged: the selected model files and all other artifacts
    configs: Mapping[str, ModelConfig]  # config.pbtxt of each model as Triton will read it, by the model's name in git
    # the names of the models that each model needs, which follows these: those that it calls, and an ensemble's steps
    calls: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ensemble: str = ""  # the name in git of the model that is the whole
    locked: bool = False  # whether the locks of the environments may not change
    origin: Path | None = None  # the repository that was imported into the folder for this build alone

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def called(self) -> list[str]:
        """The models that steps need and that are no steps of the DAG."""
        steps = {use.model_name for use in self.configs[self.ensemble].ensemble_scheduling.step}
        return [model for model in self.calls if self.configs[model].name not in steps]

    @cached_property
    def folders(self) -> dict[str, str]:
        """The folder in git of each model, by its name as Triton will read it."""
        return {model.name: folder for folder, model in self.configs.items()}

    @property
    def written(self) -> dict[str, Path]:
        """The folder in git of each model, with its examples, by its name as Triton will read it."""
        return {name: self.folder / step for name, step in self.folders.items()}

    @cached_property
    def versions(self) -> dict[str, set[int]]:
        """The version folders of each model, by its name in git: those in git, and those that artifacts are made for.
        They are looked for once, because a DAG may have thousands of steps of one model."""
        versions: dict[str, set[int]] = {name: set() for name in self.configs}
        for name, numbers in versions.items():
            folders = (folder for folder in (self.folder / name).iterdir() if folder.is_dir())
            numbers.update(int(folder.name) for folder in folders if folder.name.isdecimal())
        for artifact in self.artifacts:
            if artifact.step in versions and artifact.version.isdecimal():
                versions[artifact.step].add(int(artifact.version))
        return versions

    def descriptions(self) -> Iterator[str]:
        """Decisions of the target: the backend and the file of each step with a model file."""
        for step, model in self.selected.items():
            why = f", because {self.target.server} has no {model.instead_of}" if model.instead_of else ""
            yield f"{step}: {model.backend} runs {model.file.name}{why}"


def plan_build(folder: Path, target: Target, root: Path | None = None) -> BuildPlan:
    """Read the ensemble in ``folder``, select its model files for ``target`` and rewrite its configs. ``root``: the
    folder of the project; by default the one that holds ensembles/. Raises :class:`EnsembleError`: the folder or its
    recipe is not valid, or the target cannot run a step."""
    recipe = read_recipe(folder)
    refuse_old_image(recipe, target)
    configs = read_models(folder)
    ensemble = find_ensemble(folder, configs)
    _refuse_unknown_steps(folder, recipe, configs)
    selected = select_models(recipe, configs, target)
    calls = _calls(folder)
    kept = {called for callees in calls.values() for called in callees} if target.single and not target.fuses else set()
    rewrite_configs(configs, built_names(configs, ensemble, folder.name, kept), recipe, selected, target)
    artifacts = tuple(
        artifact
        for artifact in recipe.artifacts
        if not artifact.is_model or artifact.step not in selected or artifact in selected[artifact.step].files
    )
    root = root or folder.parents[1]
    plan = BuildPlan(folder, root, target, recipe, selected, artifacts, configs, calls, ensemble)
    return replace(plan, artifacts=tuple(_of_one_version(plan))) if target.fuses else plan


def _calls(folder: Path) -> Mapping[str, Sequence[str]]:
    """The models that each model needs: of the steps that need any, and of these models."""
    (repository,) = find_repositories(folder)
    with suppress(UnknownValueError):  # `check` reports it
        calls = calls_between(repository, step_names(repository))
        called = {callee for callees in calls.values() for callee in callees}
        return {model: callees for model, callees in calls.items() if callees or model in called}
    return {}


def _of_one_version(plan: BuildPlan) -> Iterator[Artifact]:
    """The artifacts of a fused ensemble, which has one version of each model: the one that the DAG runs, or that of
    :func:`called_version`."""
    uses = plan.configs[plan.ensemble].ensemble_scheduling.step
    run = {(plan.folders[use.model_name], version_of(plan, use)) for use in uses if use.model_name in plan.folders}
    run |= {(model, called_version(plan, model)) for model in plan.called}
    steps = {step for step, _ in run}
    for artifact in plan.artifacts:
        if not artifact.version or artifact.step not in steps or (artifact.step, int(artifact.version)) in run:
            yield artifact


def version_of(plan: BuildPlan, use: Any) -> int:
    """The version of a model that a step of the DAG runs: the one that it names, or the latest."""
    versions = plan.versions[plan.folders[use.model_name]]
    return use.model_version if use.model_version in versions else max(versions, default=1)


def called_version(plan: BuildPlan, model: str) -> int:
    """The version in git of a model that is no step of the DAG: the one that an ensemble names, or the latest."""
    callers = (plan.configs[caller] for caller, models in plan.calls.items() if model in models)
    uses = (use for caller in callers for use in caller.ensemble_scheduling.step)
    named = [version_of(plan, use) for use in uses if plan.folders.get(use.model_name) == model]
    return max(named or plan.versions[model], default=1)


def _refuse_unknown_steps(folder: Path, recipe: Recipe, configs: Mapping[str, ModelConfig]) -> None:
    named = {artifact.step for artifact in recipe.artifacts}
    named |= {step for environment in recipe.environments.values() for step in environment.steps}
    for step in sorted(named.union(recipe.engines, recipe.parameters, recipe.gpu.parameters) - set(configs)):
        message = f"the recipe names a step {step!r}, which does not exist"
        raise EnsembleError(message, path=folder / RECIPE, cure=f"the folder has {', '.join(configs)}")


def read_models(folder: Path) -> dict[str, ModelConfig]:
    """The config of each model by the name of its folder. Raises :class:`EnsembleError` when there is no model."""
    configs = {path.parent.name: read_config(path) for path in sorted(folder.glob(f"*/{CONFIG}"))}
    if not configs:
        raise EnsembleError(f"there is no model here: no folder in it has a {CONFIG}", path=folder)
    return configs


def find_ensemble(folder: Path, configs: Mapping[str, ModelConfig]) -> str:
    """The one ensemble that no other model needs. Raises :class:`EnsembleError` when there are none or several."""
    steps = {use.model_name for config in configs.values() for use in config.ensemble_scheduling.step}
    names = [name for name, config in configs.items() if config.platform == "ensemble" and name not in steps]
    if len(names) > 1:
        called = {callee for callees in _calls(folder).values() for callee in callees}
        names = [name for name in names if name not in called]
    if len(names) != 1:
        count = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise EnsembleError(f"exactly one ensemble must be needed by no other model, found {count}", path=folder)
    return names[0]


def read_inputs(folder: Path, root: Path) -> list[Path]:
    """The files of the project that the recipe in ``folder`` names; none while the recipe cannot be read."""
    try:
        recipe = read_recipe(folder)
    except EnsembleError:
        return []
    named = {path for artifact in recipe.artifacts for path in artifact.reads}
    return [root / path for path in sorted(named | {environment.file for environment in recipe.environments.values()})]


def written_paths(folder: Path, model: str = "") -> list[Path]:
    """Every file of the ensemble in ``folder``, or of one model, every version folder and every empty folder, without
    bytecode and the example requests (``examples/`` beside the config.pbtxt of the ensemble)."""
    # It reads the configs of all models, and most models have no examples.
    examples = None if model and not (folder / model / EXAMPLES).exists() else examples_folder(folder)
    return [
        path
        for path in sorted((folder / model).rglob("*"))
        if "__pycache__" not in path.relative_to(folder).parts
        and examples not in (path, *path.parents)
        and (path.is_file() or (path.is_dir() and (path.name.isdecimal() or not any(path.iterdir()))))
    ]
