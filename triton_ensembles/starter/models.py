"""The models of a repository that an ensemble needs, copied into ensembles/NAME.

The fields that a config.pbtxt leaves out are added from the model's own file. Triton would complete them from the
backend; builds switch that off, so that what is served is what is written.
"""

import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from triton_ensembles.checking.completed import completed_config
from triton_ensembles.checking.environments import MODEL_FOLDER, PARAMETER
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.project.recipe.implied import files_of
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.starter.project import Notes
from triton_ensembles.starter.repository import ModelRepository
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config

_WRAPPER = "ensemble"
_BESIDE = re.compile(rf".*{re.escape(MODEL_FOLDER)}/+\.\./+([^/]+)")


def copy_models(repository: ModelRepository, chosen: str, into: Path, notes: Notes) -> dict[str, ModelConfig]:
    """Copy the model ``chosen`` and those that it needs into the folder ``into``. Returns their configs by folder.
    Raises :class:`EnsembleError`: a single model says nothing of its tensors."""
    configs: dict[str, ModelConfig] = {}
    waiting = [chosen]
    while waiting:
        name = waiting.pop(0)
        if name in configs or name not in repository.configs:
            continue
        if into.resolve().is_relative_to(repository.place(name).resolve()):
            cure = "choose a project outside of it (--project)"
            raise EnsembleError("the project lies in the model", path=repository.place(name), cure=cure)
        _copy(repository.place(name), into / name)
        configs[name] = repository.configs[name]
        if added := _complete(into / name, configs[name]):
            notes.assumed.append(f"{name}/{CONFIG}: {added} added, as the model's file has it")
        called = repository.called_by(name)
        waiting += [*repository.steps_of(name), *called]
        if called:
            notes.assumed.append(
                f"{name} calls {most_of(called, 8)} (BLS), which only the fused form can on SageMaker: --target fused"
            )
    if unused := [name for name in repository.configs if name not in configs]:
        notes.assumed.append(f"left out, for no step needs them: {most_of(unused)}")
    if chosen not in repository.ensembles:
        _wrap(into, chosen, configs, notes)
    return configs


def _complete(model: Path, config: ModelConfig) -> str:
    """Add to ``config`` and to the config.pbtxt of the folder ``model`` what is not written there, and say what."""
    (repository,) = find_repositories(model)
    (checked,) = repository.models_read
    added = ModelConfig()
    with suppress(LoadError):  # `check` reports it
        added.MergeFrom(completed_config(checked) or ModelConfig())
    if not config.backend and not config.platform:
        added.backend = checked.backend.name
    for name in ("name", *(field.name for field, _ in config.ListFields())):
        added.ClearField(name)
    names = [field.name for field, _ in added.ListFields()]
    if names:
        path = model / CONFIG
        written = path.read_text("utf-8") if path.is_file() else ""
        path.write_text(f"{written.rstrip()}\n\n{format_config(added)}".lstrip(), encoding="utf-8")
        config.MergeFrom(added)
    return ", ".join(names)


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


def _copy(source: Path, copy: Path) -> None:
    """Copy a file or a folder, in whose copy there are no links. Raises :class:`EnsembleError`, as :func:`files_of`."""
    files = [("", source), *(files_of(source) if source.is_dir() else ())]
    for inner, path in files:
        if path.is_dir():
            (copy / inner).mkdir()
        else:
            with path.open("rb") as read, (copy / inner).open("xb") as written:  # copy2 names a file that is gone then
                shutil.copyfileobj(read, written)
            (copy / inner).chmod(path.stat().st_mode | stat.S_IWUSR)  # or nobody could edit it


def copy_environments(repository: ModelRepository, configs: dict[str, ModelConfig], into: Path, notes: Notes) -> None:
    """Copy the packed environments that lie beside the models, and say which environment each Python step has."""
    for name, config in configs.items():
        if PARAMETER not in config.parameters:
            continue
        written = config.parameters[PARAMETER].string_value
        if beside := _BESIDE.match(written):
            place = repository.root / beside[1]
            if place.exists() and not (into / beside[1]).exists():
                _copy(place, into / beside[1])
        if written.startswith("/"):
            cure = (
                f"pack it into the model's folder and write {MODEL_FOLDER}/…, or name an environment file in the recipe"
            )
            notes.left.append(f"{name} runs in {written}, which no archive has: {cure}")
        else:
            notes.assumed.append(f"{name} runs in the environment that its {CONFIG} names: {written}")
