"""Stages an ensemble: writes the model repository that Triton loads, as its build plan describes it."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from triton_ensembles.building.config_rewrite import environment_member
from triton_ensembles.building.packed_environments import MadeEnvironment
from triton_ensembles.building.plan import BuildPlan, written_paths
from triton_ensembles.triton.home import STUB
from triton_ensembles.triton.model_config import CONFIG, format_config


def stage(
    plan: BuildPlan, destination: Path, *, artifacts: Mapping[str, Path], environments: Mapping[str, MadeEnvironment]
) -> None:
    """Write the repository into the folder ``destination``, which is empty or does not exist.

    Args:
        artifacts: made files by their path in the recipe (``bert-trt/1/model.onnx``).
        environments: packed environments by their name in the recipe.
    """
    for step, config in plan.configs.items():
        folder = destination / config.name
        folder.mkdir(parents=True)
        source = plan.folder / step
        for written in written_paths(source):
            _copy(written, folder / written.relative_to(source))
        (folder / CONFIG).write_text(format_config(config), encoding="utf-8")
    for path, made in artifacts.items():
        step, inner = path.split("/", 1)
        _place(made, destination / plan.configs[step].name / inner)
    for name, environment in environments.items():
        _place(environment.path, destination / environment_member(name))
        if environment.stub:
            for step in plan.recipe.environments[name].steps:
                shutil.copy2(environment.stub, destination / plan.configs[step].name / STUB)
    for config in plan.configs.values():
        # Triton loads no model without a version folder. That of an ensemble is empty, and git keeps no empty folders.
        if not any(path.is_dir() and path.name.isdecimal() for path in (destination / config.name).iterdir()):
            (destination / config.name / "1").mkdir()


def _copy(source: Path, copy: Path) -> None:
    """A copy, not a link: an editor that saves in place must not change what is being served."""
    (copy if source.is_dir() else copy.parent).mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copy2(source, copy)


def _place(source: Path, destination: Path) -> None:
    """A hard link if the file system supports it, because weights are large; otherwise a copy."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), destination)
    except OSError:
        shutil.copy2(source, destination)
