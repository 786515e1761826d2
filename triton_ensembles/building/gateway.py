"""Puts ensembles and the gateway's table into one folder: what its container finds in /opt/ml/model."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.archive.manifest import MANIFEST, python_of
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.building.refusal import refuse_faults
from triton_ensembles.building.staging import place
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import remove
from triton_ensembles.gateway.table import Pinned, Table
from triton_ensembles.triton.gateway_server import TABLE
from triton_ensembles.triton.model_config import CONFIG, format_config, read_config
from triton_ensembles.triton.targets import Target

NAME = "gateway"


def ensembles_of(table: Table, having: Sequence[str], path: Path, target: Target) -> list[str]:
    """The ensembles that the table needs, of those that the project has. Their names are those of Triton's models.

    Raises:
        EnsembleError: it names a model that no ensemble makes, or versions of steps that a fused one does not have.
    """
    pinned = {name: each.of for name, each in table.ensembles.items()}
    for name in pinned:
        if name in having:
            raise EnsembleError(f"ensembles.{name} has the name of an ensemble of this project", path=path)
        if target.fuses:
            message = f"ensembles.{name} runs other versions of steps, and a fused ensemble has one version of each"
            raise EnsembleError(message, path=path, cure=f"use --target cpu, or leave {name} out of the table")
    wanted = list(dict.fromkeys(pinned.get(each.model, each.model) for each in table.models))
    for name in wanted:
        if name not in having:
            message = f"no ensemble of this project makes Triton's model {name!r}"
            raise EnsembleError(message, path=path, cure=f"there are {', '.join(having) or 'none'}")
    return wanted


def stage_gateway(built: Sequence[Built], table: Table, path: Path, places: Places, target: Target) -> Path:
    """Write build/TARGET/gateway: the models of all of them, the table, and a manifest. Returns the folder.

    Args:
        path: the file of ``table``.

    Raises:
        EnsembleError: they are for different Pythons, or the table does not fit them.
    """
    python = python_of({each.name: each.repository for each in built})
    folder = places.repository(target.name, NAME)
    remove(folder)
    for each in built:
        for model in sorted(path for path in each.repository.iterdir() if path.is_dir()):
            shutil.copytree(model, folder / model.name, copy_function=place_file)
    for name, pinned in table.ensembles.items():
        _pin(folder, name, pinned, path)
    shutil.copy2(path, folder / TABLE)
    weights = "random" if any(each.random for each in built) else "pretrained"
    manifest = {"python": python, "weights": weights, "ensembles": {each.name: each.manifest for each in built}}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    refuse_faults(folder, target.destination, "the gateway's models have faults together")
    return folder


def _pin(folder: Path, name: str, pinned: Pinned, path: Path) -> None:
    """Write the ensemble ``name``: the one that it is made of, with the versions of its steps."""
    shutil.copytree(folder / pinned.of, folder / name, copy_function=place_file)
    written = folder / name / CONFIG
    config = read_config(written)
    config.name = name
    uses = config.ensemble_scheduling.step
    for step, version in pinned.steps.items():
        model = f"{pinned.of}.{step}"
        if not (found := [use for use in uses if use.model_name == model]):
            steps = ", ".join(dict.fromkeys(use.model_name.removeprefix(f"{pinned.of}.") for use in uses))
            raise EnsembleError(f"ensembles.{name}.steps.{step}: {pinned.of} has the steps {steps}", path=path)
        if not (folder / model / str(version)).is_dir():
            versions = sorted(int(each.name) for each in (folder / model).iterdir() if each.name.isdecimal())
            raise EnsembleError(
                f"ensembles.{name}.steps.{step}: there is no version {version}",
                path=path,
                cure=f"it has {', '.join(map(str, versions))}",
            )
        for use in found:
            use.model_version = version
    written.unlink()  # it is a link to the other's
    written.write_text(format_config(config), encoding="utf-8")


def place_file(source: str, destination: str) -> None:
    place(Path(source), Path(destination))
