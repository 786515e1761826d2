"""platform and backend: which of them, and whether they go together."""

from __future__ import annotations

from collections.abc import Iterator

from triton_ensembles.check.backend import BACKENDS, ENSEMBLE, PLATFORM_OF, PLATFORMS, backend_of
from triton_ensembles.check.examples import SCALE, X, Y, ensemble, python_model
from triton_ensembles.check.fault import Finding
from triton_ensembles.check.model import Model
from triton_ensembles.check.rule import Example, rule
from triton_ensembles.check.spelling import choices, nearest
from triton_ensembles.check.target import Target

SOURCE = "core r24.10 model_config_utils.cc ValidateModelConfig"


@rule(
    "backend-missing",
    "A model names its backend, or the file in its version folder tells it",
    source="core r24.10 model_config_utils.cc AutoCompleteBackendFields",
    bad=Example(python_model(backend=""), {"1/scale.py": ""}),
    good=python_model(backend=""),
    words="Could not determine backend for model",
)
def backend_missing(model: Model, target: Target) -> Iterator[Finding]:
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
def platform_unknown(model: Model, target: Target) -> Iterator[Finding]:
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
def platform_backend_clash(model: Model, target: Target) -> Iterator[Finding]:
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
def backend_misspelt(model: Model, target: Target) -> Iterator[Finding]:
    name = model.config.backend
    guess = None if not name or name in BACKENDS else nearest(name, BACKENDS)
    brings_its_own = any(entry.path.endswith(f"libtriton_{name}.so") for entry in model.tree.walk(model.root))
    if guess and not model.config.runtime and not brings_its_own:
        yield Finding(
            model.at("backend"),
            f"there is no backend '{name}'",
            f"Triton does not load it: unable to find backend library for backend '{name}'",
            f'did you mean backend: "{guess}"?',
        )


@rule(
    "ensemble-platform",
    'An ensemble has platform: "ensemble"',
    source="core r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig, AutoCompleteBackendFields",
    bad=ensemble(SCALE, platform=""),
    good=ensemble(SCALE),
    words="Could not determine backend for model",
)
def ensemble_platform(model: Model, target: Target) -> Iterator[Finding]:
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
def ensemble_backend(model: Model, target: Target) -> Iterator[Finding]:
    config = model.config
    if config.platform != ENSEMBLE:
        return
    implied = backend_of(model).name and not config.backend
    if config.backend or implied:
        field = "backend" if config.backend else "default_model_filename"
        yield Finding(
            model.at(field),
            f"an ensemble has no {field}",
            f"Triton refuses it: Ensemble model '{model.name}' must have platform type 'ensemble' and empty backend type",
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
def ensemble_scheduling_missing(model: Model, target: Target) -> Iterator[Finding]:
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
    platform_unknown,
    platform_backend_clash,
    ensemble_platform,
    ensemble_backend,
    ensemble_scheduling_missing,
)
