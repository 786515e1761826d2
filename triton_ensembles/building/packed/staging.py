"""Stages an ensemble: writes the model repository that Triton loads, as its build plan describes it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.building.made.environments import MadeEnvironment
from triton_ensembles.building.planned.environment_forms import environment_member, environments_beside
from triton_ensembles.building.planned.plan import BuildPlan, written_paths
from triton_ensembles.checking.suppression.comments import carried
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import files_in
from triton_ensembles.triton.model_config import CONFIG, format_config
from triton_ensembles.triton.pip_server import STUB


def stage(
    plan: BuildPlan, destination: Path, *, artifacts: Mapping[str, Path], environments: Mapping[str, MadeEnvironment]
) -> None:
    """Write the repository into the folder ``destination``, which is empty or does not exist, with the made files by
    their path in the recipe (``bert-trt/1/model.onnx``) and its environments by name. Raises :class:`EnsembleError`: a
    step has a file of its own where a package's file belongs."""
    for step, config in plan.configs.items():
        folder = destination / config.name
        folder.mkdir(parents=True)
        for written in written_paths(plan.folder, step):
            copy(written, folder / written.relative_to(plan.folder / step))
        comments = carried(plan.folder / step / CONFIG)
        (folder / CONFIG).write_text(comments + format_config(config), encoding="utf-8")
    for path, artifact in artifacts.items():
        step, inner = path.split("/", 1)
        place(artifact, destination / plan.configs[step].name / inner)
    for beside in environments_beside(plan.folder, plan.configs):
        for file in files_in(beside).values() if beside.is_dir() else [beside]:
            copy(file, destination / file.relative_to(plan.folder))
    models = {step: config.name for step, config in plan.configs.items()}
    for name, environment in environments.items():
        spec = plan.recipe.environments[name]
        if spec.kind == "wheels":
            for step in environment.steps:
                _place_wheels(environment.path, destination / models[step], plan.folder / step)
        else:
            place(environment.path, destination / environment_member(spec, models))
        if environment.stub:
            for step in environment.steps:
                shutil.copy2(environment.stub, destination / models[step] / STUB)
    for config in plan.configs.values():
        # Triton loads no model without a version folder. That of an ensemble is empty, and git keeps no empty folders.
        if not any(path.is_dir() and path.name.isdecimal() for path in (destination / config.name).iterdir()):
            (destination / config.name / "1").mkdir()


def copy(source: Path, copy: Path) -> None:
    """A copy, not a link: an editor that saves in place must not change what is being served."""
    (copy if source.is_dir() else copy.parent).mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copy2(source, copy)


def _place_wheels(wheels: Path, model: Path, written: Path) -> None:
    """Put the packages into every version folder of ``model``. ``written`` is the step as people wrote it."""
    for version in sorted(path for path in model.iterdir() if path.is_dir() and path.name.isdecimal()):
        for package in sorted(wheels.iterdir()):
            if (version / package.name).exists():
                message = "a package of the step's environment has the same name"
                cure = 'rename it, or use kind = "folder" in the recipe'
                raise EnsembleError(message, path=written / version.name / package.name, cure=cure)
            place(package, version / package.name)


def place(source: Path, destination: Path) -> None:
    """A hard link if the file system supports it, because weights are large; otherwise a copy. Folders are made. A file
    that is there is replaced and never written to: it may itself be a link into the store."""
    if source.is_dir():
        for inner, file in files_in(source).items():
            place(file, destination / inner)
        return
    destination.parent.mkdir(parents=True, exist_ok=True)
    destination.unlink(missing_ok=True)
    try:
        os.link(source.resolve(), destination)
    except OSError:
        shutil.copy2(source, destination)
