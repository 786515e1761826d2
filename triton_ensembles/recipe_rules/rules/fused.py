"""Ensembles that cannot be fused into one model: their steps need a server of their own around them.

These rules look at ensembles that are meant for the fused target. Triton serves all of them in the drawn form.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from triton_ensembles.checking.ensemble_steps import step_names
from triton_ensembles.checking.environments import PARAMETER
from triton_ensembles.checking.examples import SCALE, ensemble, python_model, step
from triton_ensembles.checking.python.examples import CALLING, class_model
from triton_ensembles.checking.python.model_calls import calls_between, model_calls
from triton_ensembles.checking.python.nodes import argument
from triton_ensembles.checking.python.source import UTILS, every_call
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Place, Repository, Server, rule
from triton_ensembles.checking.staging_example import default_files
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import suggestion
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.recipe_rules.recipe_of import environment_files
from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.triton.backends import backend_meant

SOURCE = "triton_ensembles/runtime/fused: one process runs the steps, and answers each request once"
DESTINATION = Destination(device="fused")
GOOD = ensemble(SCALE)
_LOADING = ("load_model", "unload_model")
_CURE = "build the ensemble in its drawn form (--target cpu or gpu)"


def _one_step(name: str, model: Example, extra: str = "") -> Example:
    files = {"config.pbtxt": f'name: "{name}"\n{model.config}', **(model.files or default_files(model))}
    beside = {f"{name}/{path}": text for path, text in files.items()}
    return Example(ensemble(step(name, {"X": "X"}, {"Y": "Y"}), extra=extra), beside=beside)


_DECOUPLED = "model_transaction_policy { decoupled: true }"
_STREAM = _one_step("fused-stream", Example(python_model(_DECOUPLED)), _DECOUPLED)
_SEQUENCE = _one_step("fused-sequence", Example(python_model("sequence_batching { }")))
_CALLER = _one_step("fused-caller", class_model(CALLING.format("fused-callee")))
_SENDING = """\
    def execute(self, requests):
        for request in requests:
            request.get_response_sender().send(pb_utils.InferenceResponse(request.inputs()), 1)
        return [None for _ in requests]
"""
_SENDER = _one_step("fused-sender", class_model(_SENDING))
_REPEAT = _one_step("fused-repeat", Example(python_model(backend='backend: "repeat"')))


def _is_part(model: Model, destination: Destination) -> bool:
    """Return whether the fused form has the model: as a step, or for the calls of one."""
    return destination.device == "fused" and model in _parts(model.repository)


def _parts(repository: Repository) -> list[Model]:
    names = repository.once("parts of the fused form", lambda: calls_between(repository, step_names(repository)))
    return [model for model in repository.models if model.folder in names]


def _calls(model: Model, destination: Destination) -> Iterator[tuple[Place, str]]:
    """(place, dotted name) of every call in the Python files of a step."""
    if _is_part(model, destination):
        yield from ((file.place(call), name) for file, call, name in every_call(model))


@rule("A step of a fused ensemble is not decoupled", bad=_STREAM)
def fused_decoupled(model: Model, destination: Destination) -> Iterator[Finding]:
    if _is_part(model, destination) and model.config.model_transaction_policy.decoupled:
        message = f"{model.folder} is decoupled, so the ensemble cannot be fused"
        effect = "a decoupled model may answer a request many times, and a fused one answers it once"
        yield Finding(model.at("model_transaction_policy", "decoupled"), message, effect, _CURE)


@rule("A step of a fused ensemble has no sequences", bad=_SEQUENCE)
def fused_sequence(model: Model, destination: Destination) -> Iterator[Finding]:
    if _is_part(model, destination) and model.config.HasField("sequence_batching"):
        message = f"{model.folder} keeps state (sequence_batching), so the ensemble cannot be fused"
        effect = "Triton would send requests of one sequence to different instances of the fused model"
        yield Finding(model.at("sequence_batching"), message, effect, _CURE)


@rule("A step of a fused ensemble calls models that the archive has, and gets one answer", bad=_CALLER)
def fused_calls(model: Model, destination: Destination) -> Iterator[Finding]:
    if not _is_part(model, destination):
        return
    for place, name in _calls(model, destination):
        module, _, function = name.rpartition(".")
        if module == UTILS and function in _LOADING:
            message = f"{model.folder} loads or unloads models (pb_utils.{function}), so the ensemble cannot be fused"
            effect = "the models of a fused ensemble are loaded with it, and only with it: the call fails"
            yield Finding(place, message, effect, "delete the call, or " + _CURE)
    for call in model_calls(model):
        for name in call.names or ():
            if model.repository.model(name) is None:
                message = f"{model.folder} calls the model '{name}', which is not in the repository"
                effect = f"in the fused form the call answers with an error: Model '{name}' is not ready"
                parts = {part.folder for part in _parts(model.repository)}
                cure = suggestion(name, parts) or "put the model into the repository"
                yield Finding(call.file.place(call.node), message, effect, cure)
        for execution in call.executions():
            decoupled = argument(execution, 0, "decoupled")
            if isinstance(decoupled, ast.Constant) and decoupled.value:
                message = f"{model.folder} calls a model for any number of responses (decoupled=True)"
                effect = "a fused ensemble answers each call once: the call fails"
                yield Finding(call.file.place(execution), message, effect, "call it without, or " + _CURE)


@rule("A step of a fused ensemble returns its responses", bad=_SENDER)
def fused_sender(model: Model, destination: Destination) -> Iterator[Finding]:
    for place, name in _calls(model, destination):
        if name.endswith(".get_response_sender"):
            message = f"{model.folder} sends its responses itself, so the ensemble cannot be fused"
            effect = "in a fused ensemble only what execute returns reaches the next step"
            cure = "return a list with one InferenceResponse for each request"
            yield Finding(place, message, effect, cure)


@rule("Every step of a fused ensemble has an engine or a model.py", bad=_REPEAT, server=Server.UNTESTED)
def fused_backend(model: Model, destination: Destination) -> Iterator[Finding]:
    backend = model.backend.name
    if not _is_part(model, destination) or not backend or backend == "python" or backend in ENGINES:
        return
    if backend_meant(backend):  # backend-misspelt
        return
    recipe = model.repository.recipe
    if recipe and recipe.makes_model_for(model.folder, ENGINES):
        return
    message = f"{model.folder} cannot be fused: there is no engine for the backend {backend}"
    effect = "a fused ensemble brings its engines, and can bring those of " + ", ".join(ENGINES)
    yield Finding(model.place(), message, effect, "add a file of the model that one of them loads, or " + _CURE)


@rule("The steps of a fused ensemble share one Python environment")
def fused_environments(repository: Repository, destination: Destination) -> Iterator[Finding]:
    if destination.device != "fused":
        return
    needs: dict[str, list[tuple[str, str, Place]]] = defaultdict(list)  # of each package: the pin, who needs it, where
    for path, spec, environment in environment_files(repository):
        with suppress(EnsembleError):  # recipe-environment-file reports it
            for pin in spec.pip_requirements:
                if "==" in pin:
                    package = canonicalize_name(Requirement(pin).name)
                    need = (
                        f"{' and '.join(environment.steps)} {'needs' if len(environment.steps) == 1 else 'need'} {pin}"
                    )
                    needs[package].append((pin, need, Place(path, spec.line_of(package) or 0)))
    for name, users in sorted(needs.items()):
        for (pin, first, _), (other_pin, second, place) in combinations(users, 2):
            if pin != other_pin:
                message = f"{second}, and {first}: the ensemble cannot be fused"
                effect = "one process runs all steps, and imports one version of a package"
                cure = f"ask for the same version of {name}, or " + _CURE
                yield Finding(place, message, effect, cure)
    for model in repository.models:
        if _is_part(model, destination) and PARAMETER in model.config.parameters:
            message = f"{model.folder} brings a packed environment ({PARAMETER}), so the ensemble cannot be fused"
            effect = "a fused ensemble unpacks wheels of its steps' packages beside its own code"
            cure = f"delete the parameter, and name an environment file in {RECIPE} ([environments.NAME])"
            yield Finding(model.at("parameters", PARAMETER), message, effect, cure)
