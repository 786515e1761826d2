"""The gateway's repository: ensembles and the table in one folder, which its container finds in /opt/ml/model."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from triton_ensembles.archive.manifest import GATEWAY_TABLE, MANIFEST, PRETRAINED, RANDOM, python_of
from triton_ensembles.building.built import Built
from triton_ensembles.building.packed.staging import place
from triton_ensembles.building.places import Places
from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import remove
from triton_ensembles.host.gateway.models_toml import Model, Table
from triton_ensembles.triton.model_config import CONFIG, format_config, read_config
from triton_ensembles.triton.targets import Target

NAME = "gateway"


def ensembles_of(table: Table, having: Sequence[str], path: Path, target: Target) -> list[str]:
    """The names of the ensembles that the table in the file ``path`` needs, which are those of Triton's models.
    ``having``: the project's. Raises :class:`EnsembleError`: the table names a model that no ensemble makes, or a
    version that ``target`` cannot have."""
    if target.fuses and (pinned := [str(model) for model in table.models if model.steps_version]):
        message = f"{pinned[0]} has a steps_version, and a fused ensemble has one version of each step"
        raise EnsembleError(message, path=path, cure="use --target cpu, or leave it out of the table")
    names = list(dict.fromkeys(model.model for model in table.models))
    for name in names:
        if name not in having:
            message = f"no ensemble of this project makes Triton's model {name!r}"
            raise EnsembleError(message, path=path, cure=f"there are {', '.join(having) or 'none'}")
    return names


def stage_gateway(built: Sequence[Built], table: Table, path: Path, places: Places, target: Target) -> Path:
    """Write build/TARGET/gateway: the models of all of them, the table at ``path``, and a manifest. Returns the folder.
    Raises :class:`EnsembleError`: the ensembles are for different Pythons, have faults together, or lack the version of
    a model."""
    python = python_of({ensemble.name: ensemble.repository for ensemble in built})
    folder = places.repository(target.name, NAME)
    remove(folder)
    for ensemble in built:
        for source in sorted(path for path in ensemble.repository.iterdir() if path.is_dir()):
            shutil.copytree(source, folder / source.name, copy_function=lambda *paths: place(*map(Path, paths)))
    for model in table.models:
        if model.steps_version:
            _write_version(folder, model, path)
    shutil.copy2(path, folder / GATEWAY_TABLE)
    weights = RANDOM if any(ensemble.random for ensemble in built) else PRETRAINED
    manifests = {ensemble.name: ensemble.manifest for ensemble in built}
    manifest = {"python": python, "weights": weights, "ensembles": manifests}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    refuse_faults(folder, target.destination, "the gateway's models have faults together")
    return folder


def _write_version(folder: Path, model: Model, table: Path) -> None:
    """Write the ensemble of a version of its steps."""
    config, version = read_config(folder / model.model / CONFIG), model.steps_version
    pinned = [step for step in config.ensemble_scheduling.step if (folder / step.model_name / version).is_dir()]
    if not pinned:
        raise EnsembleError(f"{model}: no step of {model.model} has a version {version}", path=table)
    for step in pinned:
        step.model_version = int(version)
    config.name = model.served
    (folder / model.served / "1").mkdir(parents=True)
    (folder / model.served / CONFIG).write_text(format_config(config), encoding="utf-8")
