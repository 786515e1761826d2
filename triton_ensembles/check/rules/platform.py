"""platform and backend: which of them, and whether they go together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from triton_ensembles.check.backend import backend_of
from triton_ensembles.check.examples import SCALE, X, Y, ensemble, python_model
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.repository import Model
from triton_ensembles.check.rule import Example, rule
from triton_ensembles.check.spelling import choices, nearest
from triton_ensembles.triton.backends import BACKENDS, ENSEMBLE, PLATFORM_OF, PLATFORMS
from triton_ensembles.triton.destination import Destination

_LIBRARY = re.compile(r"libtriton_\w+\.so")
SOURCE = "core r24.10 model_config_utils.cc ValidateModelConfig"


@rule(
    "backend-missing",
    "A model names its backend, or the file in its version folder tells it",
    source="core r24.10 model_config_utils.cc AutoCompleteBackendFields",
    bad=Example(python_model(backend=""), {"1/scale.py": ""}),
    good=python_model(backend=""),
    words="Could not determine backend for model",
)
def backend_missing(model: Model, target: Destination) -> Iterator[Finding]:
    config = model.config
    if model.is_damaged("backend") or model.is_damaged("platform") or not model.has_config or model.is_ensemble:
        return
    if backend_of(model).name or config.platform:
        return
    recipe = model.repository.recipe
    if recipe and recipe.makes_version_of(model.folder):
        return
    yield Finding(
        model.at(),
        "neither a backend nor a platform is given, and no file of the version folder tells it",
        f"Triton refuses it: Invalid model name: Could not determine backend for model '{model.name}'",
        'write backend: "…", such as "python" or "onnxruntime"',
    )


@rule(
    "platform-unknown",
    "platform is one that Triton knows when there is no backend",
    source=SOURCE,
    bad=python_model(backend='platform: "python"'),
    good=python_model(),
    words="unexpected platform type",
)
def platform_unknown(model: Model, target: Destination) -> Iterator[Finding]:
    platform = model.config.platform
    if not platform or platform == ENSEMBLE or backend_of(model).name or model.is_damaged("platform"):
        return
    if model.config.HasField("ensemble_scheduling"):
        return  # ensemble-platform says it
    if platform in BACKENDS:
        cure = f'write backend: "{platform}"'
    else:
        guess = nearest(platform, [*PLATFORMS, ENSEMBLE])
        cure = f'did you mean platform: "{guess}"?' if guess else f"a platform is {choices([*PLATFORMS, ENSEMBLE])}"
    yield Finding(
        model.at("platform"),
        f"'{platform}' is no platform",
        f"Triton refuses it: unexpected platform type '{platform}' for {model.name}",
        cure,
    )


@rule(
    "platform-backend-clash",
    "platform and backend belong together",
    source=SOURCE,
    bad=Example(python_model('platform: "tensorrt_plan"', backend='backend: "onnxruntime"'), {"1/model.onnx": ""}),
    good=python_model('platform: "onnxruntime_onnx"'),
    words="unexpected 'platform' and 'backend' pair",
)
def platform_backend_clash(model: Model, target: Destination) -> Iterator[Finding]:
    backend = backend_of(model)
    allowed = PLATFORM_OF.get(backend.name)
    if model.config.platform == ENSEMBLE or not allowed or backend.platform in allowed:
        return
    found = f"platform '{backend.platform}'" if backend.platform else "no platform"
    yield Finding(
        model.at("platform") if backend.platform else model.at("backend"),
        f"backend '{backend.name}' goes with platform {choices(allowed)}, not with {found}",
        f"Triton refuses it: unexpected 'platform' and 'backend' pair, got:{backend.platform}, {backend.name}",
        f'write platform: "{allowed[0]}", or leave platform out'
        if backend.platform
        else f'write platform: "{allowed[0]}"',
    )


@rule(
    "backend-misspelt",
    "backend is one that exists",
    source="core r24.10 backend_model.cc GetBackendRuntimeLibraryName; the names are those of NVIDIA's backends",
    bad=python_model(backend='backend: "Python"'),
    good=python_model(backend='backend: "python"'),
    words="unable to find backend library for backend",
)
def backend_misspelt(model: Model, target: Destination) -> Iterator[Finding]:
    name = model.config.backend
    guess = nearest(name, BACKENDS)
    if guess and not _is_there(model):
        yield Finding(
            model.at("backend"),
            f"there is no backend '{name}'",
            f"Triton does not load it: unable to find backend library for backend '{name}'",
            f'did you mean backend: "{guess}"?',
        )


@rule(
    "backend-unknown",
    "backend is one that NVIDIA publishes, or the model brings its library",
    source="core r24.10 backend_model.cc GetBackendRuntimeLibraryName",
    severity=Severity.WARNING,
    bad=python_model(backend='backend: "inhouse"'),
    good=python_model(backend='backend: "python"'),
    words="unable to find backend library for backend",
)
def backend_unknown(model: Model, target: Destination) -> Iterator[Finding]:
    name = model.config.backend
    if target.image:  # image-backend-unknown knows more
        return
    if not nearest(name, BACKENDS) and not _is_there(model) and not model.is_ensemble:
        yield Finding(
            model.at("backend"),
            f"'{name}' is none of the backends that NVIDIA publishes",
            f"a server that does not have it says: unable to find backend library for backend '{name}'",
            f"put libtriton_{name}.so into the model's folder, or see to it that the server has the backend",
        )


def _is_there(model: Model) -> bool:
    """Whether the model names no backend, a published one, or one whose library lies in its own folder."""
    config = model.config
    if not config.backend or config.backend in BACKENDS or config.runtime or model.is_damaged("backend"):
        return True
    return _brings(model, f"libtriton_{config.backend}.so")


def _brings(model: Model, library: str) -> bool:
    folders = ("", *(f"{folder}/" for folder in model.versions.values()))
    return any(model.get(folder + library) is not None for folder in folders)


@rule(
    "runtime-missing",
    "runtime is model.py, a library of the backend, or a library that the model brings",
    source="core r24.10 backend_model.cc GetBackendLibraryProperties",
    bad=python_model('runtime: "scale.so"'),
    good=python_model('runtime: "libtriton_python.so"'),
    words="unable to find backend library",
)
def runtime_missing(model: Model, target: Destination) -> Iterator[Finding]:
    runtime = model.config.runtime
    if not runtime or model.is_damaged("runtime") or model.is_ensemble:
        return
    python_itself = runtime == "model.py" and backend_of(model).name == "python"
    if not python_itself and (runtime == "model.py" or _LIBRARY.fullmatch(runtime) or _brings(model, runtime)):
        return
    yield Finding(
        model.at("runtime"),
        'runtime: "model.py" is for other backends that are written in Python'
        if python_itself
        else f"there is no library '{runtime}' for the backend",
        f"Triton does not load it: unable to find … backend library '{runtime}' for model '{model.name}'",
        "delete the line; default_model_filename names the model's own file",
    )


@rule(
    "ensemble-platform",
    'An ensemble has platform: "ensemble"',
    source="core r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig, AutoCompleteBackendFields",
    bad=ensemble(SCALE, platform=""),
    good=ensemble(SCALE),
    words="Could not determine backend for model",
)
def ensemble_platform(model: Model, target: Destination) -> Iterator[Finding]:
    config = model.config
    if config.HasField("ensemble_scheduling") and config.platform != ENSEMBLE:
        yield Finding(
            model.at("platform") if config.platform else model.at("ensemble_scheduling"),
            f'an ensemble has platform: "ensemble", here it is {config.platform or "missing"}',
            "Triton refuses it, and SageMaker's front end does not see that it is the ensemble",
            'write platform: "ensemble"',
        )


@rule(
    "ensemble-backend",
    "An ensemble has no backend and no default_model_filename",
    source="core r24.10 model_config_utils.cc ValidateModelConfig",
    bad=ensemble(SCALE, extra='backend: "python"'),
    good=ensemble(SCALE),
    words="must have platform type 'ensemble' and empty backend type",
)
def ensemble_backend(model: Model, target: Destination) -> Iterator[Finding]:
    config = model.config
    if config.platform != ENSEMBLE:
        return
    implied = backend_of(model).name and not config.backend
    if config.backend or implied:
        field = "backend" if config.backend else "default_model_filename"
        yield Finding(
            model.at(field),
            f"an ensemble has no {field}",
            f"Triton refuses it: Ensemble model '{model.name}' must have platform type 'ensemble' "
            "and empty backend type",
            "delete the line; work that no step does goes into a step of its own",
        )


@rule(
    "ensemble-scheduling-missing",
    'A model with platform: "ensemble" has ensemble_scheduling',
    source="core r24.10 model_config_utils.cc ValidateModelConfig",
    bad=Example(f'platform: "ensemble"\nmax_batch_size: 8\ninput [ {X} ]\noutput [ {Y} ]\ndynamic_batching {{ }}\n'),
    good=ensemble(SCALE),
    words="ensemble scheduling must be set for ensemble",
)
def ensemble_scheduling_missing(model: Model, target: Destination) -> Iterator[Finding]:
    config = model.config
    if config.platform == ENSEMBLE and not config.HasField("ensemble_scheduling"):
        if model.is_damaged("ensemble_scheduling"):
            return
        other = config.WhichOneof("scheduling_choice")
        yield Finding(
            model.at(other) if other else model.at("platform"),
            f"an ensemble has ensemble_scheduling, not {other}" if other else "an ensemble has ensemble_scheduling",
            f"Triton refuses it: ensemble scheduling must be set for ensemble {model.name} whose platform is ensemble",
            "write ensemble_scheduling { step [ … ] }; batching belongs to the steps",
        )


RULES = (
    backend_missing,
    backend_misspelt,
    backend_unknown,
    runtime_missing,
    platform_unknown,
    platform_backend_clash,
    ensemble_platform,
    ensemble_backend,
    ensemble_scheduling_missing,
)
