"""The models of a repository that an ensemble needs, copied into ensembles/NAME."""

import re
from collections.abc import Iterator
from pathlib import Path

from triton_ensembles.checking.environments import MODEL_FOLDER, PARAMETER
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.spelling import listed, most_of
from triton_ensembles.starter.completion import complete
from triton_ensembles.starter.copying import SKIPPED, Copied, copy_tree
from triton_ensembles.starter.report import Notes
from triton_ensembles.starter.repository import ModelRepository
from triton_ensembles.starter.steps import called_models
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config

_WRAPPER = "ensemble"
_BESIDE = re.compile(rf".*{re.escape(MODEL_FOLDER)}/+\.\./+([^/]+)")


def copy_models(repository: ModelRepository, chosen: str, into: Path, notes: Notes) -> dict[str, ModelConfig]:
    """Copy the model ``chosen`` and those that it needs into the folder ``into``. Returns their configs by folder.
    Raises :class:`EnsembleError`: an ensemble has an ensemble as a step, or a single model says nothing of its
    tensors."""
    inner = [step for step in _steps(repository, chosen) if step in repository.ensembles]
    if inner:
        message = f"the ensemble {chosen!r} has ensembles as steps ({listed(inner)}), and a build takes one ensemble"
        cure = f"write the steps of {inner[0]!r} into it, or import only that one: --model {inner[0]}"
        raise EnsembleError(message, path=repository.folder, cure=cure)
    configs: dict[str, ModelConfig] = {}
    copied = Copied()
    waiting = [chosen, *_steps(repository, chosen)]
    while waiting:
        name = waiting.pop(0)
        if name in configs or name not in repository.configs:
            continue
        if into.resolve().is_relative_to(repository.place(name).resolve()):
            cure = "choose a project outside of it (--project)"
            raise EnsembleError("the project lies in the model", path=repository.place(name), cure=cure)
        copy_tree(repository.place(name), into / name, copied)
        configs[name] = repository.configs[name]
        if added := complete(into / name, configs[name]):
            notes.assumed.append(f"{name}/{CONFIG}: {added} added, as the model's file has it")
        called = [model for model in called_models(into / name) if model in repository.configs]
        waiting += called
        notes.left += [
            f"{name} calls the model {model!r} by its name (BLS), SageMaker loads only steps of the ensemble, and a "
            f"build names them {into.name}.STEP: make it a step"
            for model in dict.fromkeys(called)
        ]
    _note_rest(repository, configs, copied, notes)
    if chosen not in repository.ensembles:
        _wrap(into, chosen, configs, notes)
    return configs


def _steps(repository: ModelRepository, chosen: str) -> list[str]:
    return repository.steps_of(chosen) if chosen in repository.ensembles else []


def _wrap(into: Path, model: str, configs: dict[str, ModelConfig], notes: Notes) -> None:
    """Write an ensemble whose only step is ``model``."""
    config = configs[model]
    if not config.input or not config.output:
        missing = " and ".join(kind for kind in ("input", "output") if not getattr(config, kind))
        message = f"{model!r} is no ensemble, and its {CONFIG} has no {missing}, so none can be written around it"
        raise EnsembleError(message, cure=f"write input [ … ] and output [ … ] into its {CONFIG}")
    ensemble = ModelConfig(platform="ensemble", max_batch_size=config.max_batch_size)
    step = ensemble.ensemble_scheduling.step.add(model_name=model, model_version=-1)
    for kind, tensors in (("input", config.input), ("output", config.output)):
        for tensor in tensors:
            getattr(ensemble, kind).add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            getattr(step, f"{kind}_map")[tensor.name] = tensor.name
    for tensor in ensemble.input:
        tensor.optional = any(source.optional for source in config.input if source.name == tensor.name)
    name = _WRAPPER if model != _WRAPPER else "pipeline"
    (into / name).mkdir()
    (into / name / CONFIG).write_text(format_config(ensemble), encoding="utf-8")
    configs[name] = ensemble
    notes.assumed.append(f"{model} is a single model: it is the only step of a new ensemble with the same tensors")


def _note_rest(repository: ModelRepository, configs: dict[str, ModelConfig], copied: Copied, notes: Notes) -> None:
    if unused := [name for name in repository.configs if name not in configs]:
        notes.assumed.append(f"left out, for no step needs them: {most_of(unused)}")
    if copied.links:
        notes.assumed.append(f"copied what links lead to: {most_of(path.name for path in copied.links)}")
    notes.left += [f"the link {shown(path)} leads nowhere: copy its file to the same place" for path in copied.dead]
    if copied.others:
        notes.assumed.append(f"left out, for they are no files: {most_of(path.name for path in copied.others)}")


def copy_environments(repository: ModelRepository, configs: dict[str, ModelConfig], into: Path, notes: Notes) -> None:
    """Copy the packed environments that lie beside the models, and say which environment each Python step has."""
    for name, config in configs.items():
        if PARAMETER not in config.parameters:
            continue
        written = config.parameters[PARAMETER].string_value
        if beside := _BESIDE.match(written):
            _copy_beside(repository, beside[1], into)
        if written.startswith("/"):
            notes.left.append(
                f"{name} runs in {written}, which no archive has: pack the environment into the folder of the model "
                f"and write {MODEL_FOLDER}/… into its {CONFIG}, or name an environment file in the recipe"
            )
        else:
            notes.assumed.append(f"{name} runs in the environment that its {CONFIG} names: {written}")


def _copy_beside(repository: ModelRepository, name: str, into: Path) -> None:
    place = (repository.folder.parent if repository.is_model else repository.folder) / name
    if place.exists() and not (into / name).exists():
        copy_tree(place, into / name, Copied())


def files_beside(repository: ModelRepository) -> Iterator[str]:
    """The names of what lies in the repository and is no model."""
    for path in sorted(repository.folder.iterdir()):
        if path.name not in repository.configs and path.name not in SKIPPED:
            yield path.name
