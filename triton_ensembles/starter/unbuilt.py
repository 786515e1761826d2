"""An unpacked archive of this project as the repository that it was built from: the ensemble as drawn, with the names
that its steps had, and without what the build added."""

from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError

from triton_ensembles.archive.manifest import MANIFEST, read_manifest
from triton_ensembles.archive.model_names import ENVIRONMENT
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import read_json, remove
from triton_ensembles.runtime.fused.plan import DIGEST, PLAN, STEPS
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config, read_config

_TOP = "ensemble"


def undo_build(folder: Path) -> list[str]:
    """Turn the archive that was unpacked into ``folder`` back. Returns what was done, a line each; [] where its
    manifest is not that of a build. Raises :class:`EnsembleError`: a config or a plan cannot be read."""
    manifest = read_manifest(folder)
    top = str(manifest.get("ensemble") or "")
    if not top or not (folder / top / CONFIG).is_file():
        return []
    remove(folder / MANIFEST)
    if DIGEST in read_config(folder / top / CONFIG).parameters:
        try:
            _draw(folder, top)
            packages = manifest["environments"]["fused"]["packages"]
        except (LookupError, ValueError, TypeError, AttributeError, OSError, ParseError) as error:
            message = f"this archive of a fused ensemble is damaged: {error}"
            raise EnsembleError(message, path=folder / top, cure="import what it was built from") from None
        pins = "".join(f"{name}=={version}\n" for name, version in packages.items())
        (folder / "requirements.txt").write_text(pins)
        return [
            f"{top} is a fused ensemble: its steps are models again, without the engines and packages of the archive"
        ]
    return _shorten(folder, top)


def _draw(folder: Path, top: str) -> None:
    """Write the ensemble ``top`` and the models of its steps from its plan, in place of the fused model."""
    fused = read_config(folder / top / CONFIG)
    packed = (folder / top).rename(folder / f".{top}.fused")
    (version,) = (path for path in packed.iterdir() if (path / PLAN).is_file())
    ensemble = ModelConfig(
        platform="ensemble", max_batch_size=fused.max_batch_size, input=fused.input, output=fused.output
    )
    plan = read_json(version / PLAN)
    for step in plan["steps"]:
        maps = {"input_map": step["inputs"], "output_map": step["outputs"]}
        ensemble.ensemble_scheduling.step.add(model_name=step["name"], model_version=-1, **maps)
    for name, config in {model["name"]: model["config"] for model in (*plan["steps"], *plan["called"])}.items():
        (version / STEPS / name).rename(folder / name)
        (folder / name / CONFIG).write_text(format_config(_config(config)), encoding="utf-8")
    place = folder / (_TOP if not (folder / _TOP).exists() else top)
    place.mkdir()
    (place / CONFIG).write_text(format_config(ensemble), encoding="utf-8")
    remove(packed)


def _config(written: dict[str, Any]) -> ModelConfig:
    """The config of a step as Triton passes it to a backend, without what every model has."""
    config: ModelConfig = ParseDict(written, ModelConfig(), ignore_unknown_fields=True)
    for name in ("optimization", "version_policy"):
        config.ClearField(name)
    return config


def _shorten(folder: Path, top: str) -> list[str]:
    """Take ``TOP.`` off the names of the steps."""
    prefix = f"{top}."
    steps = {path.name: path.name.removeprefix(prefix) for path in folder.iterdir() if path.name.startswith(prefix)}
    names = steps | {top: _TOP if _TOP not in steps.values() else top}
    if not steps or any((folder / name).exists() for name in steps.values()):
        return []
    for written, name in names.items():
        place = (folder / written).rename(folder / name)
        if not (place / CONFIG).is_file():
            continue
        config = read_config(place / CONFIG)
        config.ClearField("name")
        for step in config.ensemble_scheduling.step:
            step.model_name = names.get(step.model_name, step.model_name)
        if ENVIRONMENT in config.parameters:
            value = config.parameters[ENVIRONMENT]
            value.string_value = "/".join(names.get(part, part) for part in value.string_value.split("/"))
        (place / CONFIG).write_text(format_config(config), encoding="utf-8")
    return [f"the steps have the names that they had before the build put {prefix} before them"]
