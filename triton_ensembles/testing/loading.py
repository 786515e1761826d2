"""Loads a Python step for a test."""

import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from triton_ensembles.checking.checker import check
from triton_ensembles.checking.environments import PARAMETER
from triton_ensembles.checking.fault import Severity
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.fused.plan import StepPlan
from triton_ensembles.runtime.fused.step import StepPlace
from triton_ensembles.testing.backend_utils import UTILS
from triton_ensembles.testing.limits import guarded, innermost
from triton_ensembles.testing.step import Step
from triton_ensembles.testing.step_models import Function, StepModels
from triton_ensembles.testing.stub_modules import StubModules
from triton_ensembles.testing.tested_step import TestedStep
from triton_ensembles.triton.completed_config import as_json, completed
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, read_config

_ELSEWHERE = "serve it with the fixture triton_server"


def load_step(
    path: str | os.PathLike[str],
    *,
    models: Mapping[str, Function] | None = None,
    seconds: float = 60.0,
    this_python: bool = False,
) -> Step:
    """Load a Python model into this process, as Triton's stub loads it.

    Args:
        path: the folder of the model, in which config.pbtxt is.
        models: functions that answer for models which the step calls, by the model's name; other Python models of the
            repository are loaded when they are called.
        seconds: how long importing, initializing and each execution may take.
        this_python: run a step with an environment of its own, EXECUTION_ENV_PATH, in this process's Python.

    Raises:
        EnsembleError: there is no such model, its config is broken or not that of a Python step, or its model.py cannot
            be imported or initialized; with the file and the line.
    """
    folder = Path(path).resolve()

    def load(folder: Path) -> TestedStep:
        return _load(folder, called, seconds, this_python=this_python)

    called = StepModels(folder.parent, models or {}, load)
    return Step(called.loaded(folder.name), called, seconds)


def _load(folder: Path, models: StepModels, seconds: float, *, this_python: bool) -> TestedStep:
    config, version = _config(folder, this_python=this_python), _version(folder)
    name, written = config.name or folder.name, as_json(completed(config, "python", 1))
    del written["name"]
    place = StepPlace(StepPlan(name, version, "python", written, {}, {}), name, f"{name}_0_0", folder)
    method = "auto_complete_config"
    try:
        with guarded(folder, method, seconds):
            written.update(_completed(place, name))
        method = "initialize"
        with guarded(folder, method, seconds):
            return TestedStep(place, models)
    except EnsembleError:
        raise
    except (Exception, SystemExit) as error:
        raise _load_error(error, folder, name) from error


def _config(folder: Path, *, this_python: bool) -> ModelConfig:
    """The config of a Python step that this process can run. Raises EnsembleError."""
    path = folder / CONFIG
    if not path.is_file():
        raise EnsembleError(f"there is no {CONFIG}", path=folder, cure="give the folder of a model")
    config = read_config(path)
    if config.backend != "python":
        kind = config.backend or config.platform or "no backend"
        raise EnsembleError(f"it is no Python model, but has {kind}", path=path, cure=_ELSEWHERE)
    environment = config.parameters[PARAMETER].string_value if PARAMETER in config.parameters else ""
    own = environment.replace("$$TRITON_MODEL_DIRECTORY", str(folder))
    if environment and not this_python and Path(own).resolve() != Path(sys.prefix).resolve():
        message = f"the step has a Python of its own, {PARAMETER} {environment!r}, and this is {sys.prefix}"
        cure = f"run pytest in that Python, or here with this_python=True, or {_ELSEWHERE}"
        raise EnsembleError(message, path=path, cure=cure)
    if config.sequence_batching.control_input:
        message = "sequence_batching has control_input, tensors that Triton's scheduler makes"
        raise EnsembleError(message, path=path, cure=_ELSEWHERE)
    if config.default_model_filename not in ("", "model.py"):
        message = f"default_model_filename is {config.default_model_filename!r}, and load_step reads model.py"
        raise EnsembleError(message, path=path, cure=_ELSEWHERE)
    for fault in check([folder]).faults:  # of packed environments, none is needed here
        is_there = Path(fault.place.path).resolve() == path and not fault.rule.startswith("environment-")
        if is_there and fault.severity is Severity.ERROR:
            raise EnsembleError(fault.message, path=path, line=fault.place.line, cure=fault.cure)
    return config


def _version(folder: Path) -> str:
    versions = [int(each.name) for each in folder.iterdir() if each.name.isdecimal() and each.is_dir()]
    if not versions or not (folder / str(max(versions)) / "model.py").is_file():
        where = f"{max(versions)}/model.py" if versions else "1/model.py"
        raise EnsembleError(f"there is no {where}", path=folder, cure="Triton needs a folder for each version")
    return str(max(versions))


def _completed(place: StepPlace, name: str) -> dict[str, Any]:
    """The config after the step's ``auto_complete_config``, which another process of the stub runs."""
    utils = ModuleType(UTILS.__name__)
    vars(utils).update(vars(UTILS), get_model_dir=lambda: str(place.version_folder))
    modules = StubModules(place.version_folder, utils)
    model = modules.load()
    before = UTILS.ModelConfig(place.arguments()["model_config"])
    with modules.active():
        after = model.auto_complete_config(before) if hasattr(model, "auto_complete_config") else before
    if not isinstance(after, UTILS.ModelConfig):
        message = f"auto_complete_config function in model '{name}' must return a valid pb.ModelConfig object."
        raise UTILS.TritonModelException(message)
    return {key: value for key, value in after.as_dict().items() if key != "name"}


def _load_error(error: BaseException, folder: Path, name: str) -> EnsembleError:
    place = innermost(folder, reversed([*traceback.walk_tb(error.__traceback__)]))
    if isinstance(error, SyntaxError) and error.filename:
        place = Path(error.filename), error.lineno
    message = f"the step {name} cannot be loaded: {type(error).__name__}: {error}"
    return EnsembleError(message, path=place[0], line=place[1])
