"""platform and backend: whether they exist, and whether they match."""

import re
from collections.abc import Iterator

from triton_ensembles.checking.examples import ONNX_IDENTITY, SCALE, X, Y, ensemble, python_model
from triton_ensembles.checking.field_rule import items
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Severity, rule, warning
from triton_ensembles.ground.spelling import choices, listed, nearest, only_near, suggestion
from triton_ensembles.triton.backends import BACKENDS, ENSEMBLE, SERVER_BRANCHES, backend_meant
from triton_ensembles.triton.model_formats import PLATFORMS, platforms_of
from triton_ensembles.triton.releases import image_of, releases

_LIBRARY = re.compile(r"libtriton_\w+\.so")
_PLATFORM = f'platform: "{ENSEMBLE}"'
GOOD = python_model()
SOURCE = "core r24.10 model_config_utils.cc ValidateModelConfig"


@rule(
    "A model names its backend, or the file in its version folder determines it",
    source="core r24.10 model_config_utils.cc AutoCompleteBackendFields",
    bad=Example(python_model(backend=""), {"1/scale.py": ""}),
    good=python_model(backend=""),
    words="Invalid model name: Could not determine backend for model '…'",
)
def backend_missing(model: Model) -> Iterator[Finding]:
    config = model.config
    if not model.has_config or model.is_ensemble or model.backend.name or config.platform or model.is_version_made:
        return
    message = "neither a backend nor a platform is given, and no file of the version folder determines one"
    yield Finding(model.at(), message, cure='write backend: "…", such as "python" or "onnxruntime"')


@rule(
    "A platform without a backend is one that Triton knows",
    bad=python_model(backend='platform: "python"'),
    words="unexpected platform type '…'",
)
def platform_unknown(model: Model) -> Iterator[Finding]:
    platform = model.config.platform
    if not platform or platform == ENSEMBLE or model.backend.name:
        return
    if model.config.HasField("ensemble_scheduling"):
        return  # ensemble-platform reports it
    guess = nearest(platform, [*PLATFORMS, ENSEMBLE])
    meant = platform if platform in BACKENDS else backend_meant(platform)
    if guess and platform not in BACKENDS:
        cure = f'did you mean platform: "{guess}"?'
        edits = model.file.renamed("platform", to=only_near(platform, [*PLATFORMS, ENSEMBLE]))
    else:
        exact = meant if meant and _is_exact(platform, meant) else None
        edits = model.file.renamed("platform", to=exact, field="backend")
        cure = f'write backend: "{meant}"' if meant else f"the platforms are {listed([*PLATFORMS, ENSEMBLE])}"
    yield Finding(model.at("platform"), f"'{platform}' is not a valid platform", cure=cure, edits=edits)


def _is_exact(name: str, meant: str) -> bool:
    """Return whether ``meant`` is another name of the backend, or the only one that is near."""
    return meant == name or meant != nearest(name, BACKENDS) or meant == only_near(name, BACKENDS)


@rule(
    "The platform and the backend match",
    bad=Example(
        python_model('platform: "tensorrt_plan"', backend='backend: "onnxruntime"'), {"1/model.onnx": ONNX_IDENTITY}
    ),
    good=python_model('platform: "onnxruntime_onnx"'),
    words="unexpected 'platform' and 'backend' pair, got:…",
)
def platform_backend_clash(model: Model) -> Iterator[Finding]:
    backend = model.backend
    allowed = platforms_of(backend.name)
    if model.config.platform == ENSEMBLE or not allowed or backend.platform in allowed:
        return
    field, present, cure = "backend", "no platform", f'write platform: "{allowed[0]}"'
    if backend.platform:
        field, present, cure = "platform", f"platform '{backend.platform}'", f"{cure}, or delete platform"
    message = f"backend '{backend.name}' requires platform {choices(allowed)}, and here is {present}"
    yield Finding(model.at(field), message, cure=cure)


@rule(
    "The backend exists",
    source="core r24.10 backend_model.cc GetBackendRuntimeLibraryName; the names are those of NVIDIA's backends",
    bad=python_model(backend='backend: "Python"'),
    words="unable to find backend library for backend '…'",
)
def backend_misspelt(model: Model) -> Iterator[Finding]:
    name = model.config.backend
    guess = backend_meant(name)
    if guess and not _brings_library(model) and not (guess == ENSEMBLE and model.is_ensemble):
        cure = f"write {_PLATFORM} instead" if guess == ENSEMBLE else f'did you mean backend: "{guess}"?'
        field = "platform" if guess == ENSEMBLE else "backend"
        edits = model.file.renamed("backend", to=guess, field=field) if _is_exact(name, guess) else ()
        yield Finding(model.at("backend"), f"there is no backend '{name}'", cure=cure, edits=edits)


@warning(
    "The backend is one of Triton's images, or the model's folder has its library",
    source=f"core r24.10 GetBackendRuntimeLibraryName; server build.py on the branches {SERVER_BRANCHES}: enable_all",
    bad=python_model(backend='backend: "inhouse"'),
    words="unable to find backend library for backend",
)
def backend_unknown(model: Model, destination: Destination) -> Iterator[Finding]:
    """Find backends that no usual image of NVIDIA's has. Any other image may have any backend; image-backend is about
    those that other releases have."""
    name, image, known, where = (
        model.config.backend,
        image_of(destination),
        frozenset(BACKENDS),
        "no image that NVIDIA publishes has a",
    )
    if destination.image:
        if image is None or not destination.has_usual_backends:
            return
        known = frozenset().union(*(release.backends for release in releases().values()))
        where = f"the image of Triton {image.release} has no"
    if name and name not in known and not model.is_ensemble and not _brings_library(model) and not backend_meant(name):
        message = f"{where} backend '{name}'"
        effect = f"a server without it refuses the model: unable to find backend library for backend '{name}'"
        cure = f"put libtriton_{name}.so into the model's folder, or make sure that the server has the backend"
        severity = Severity.ERROR if re.search(r"[/\s]", name) else None  # which no file of a backend has in its name
        yield Finding(model.at("backend"), message, effect, cure, severity)


def _brings_library(model: Model) -> bool:
    return bool(model.config.runtime) or model.has_library(f"libtriton_{model.config.backend}.so")


@rule(
    "runtime is model.py, a library of the backend, or a library in the model's folder",
    source="core r24.10 backend_model.cc GetBackendLibraryProperties",
    bad=python_model('runtime: "scale.so"'),
    good=python_model('runtime: "libtriton_python.so"'),
    words="unable to find backend library '…' for model '…'",
)
def runtime_missing(model: Model) -> Iterator[Finding]:
    runtime = model.config.runtime
    if not runtime or model.is_ensemble:
        return
    if runtime == "model.py" and model.is_python:
        message = 'runtime: "model.py" is for other backends that are written in Python'
    elif runtime == "model.py" or _LIBRARY.fullmatch(runtime) or model.has_library(runtime):
        return
    else:
        message = f"there is no library '{runtime}' for the backend"
    cure = "delete the line; default_model_filename names the model's own file"
    yield Finding(model.at("runtime"), message, cure=cure)


@rule(
    'An ensemble has platform: "ensemble"',
    source="core r24.10 model_config_utils.cc ValidateEnsembleSchedulingConfig, AutoCompleteBackendFields",
    bad=ensemble(SCALE, platform=""),
    good=ensemble(SCALE),
    words="Could not determine backend for model",
)
def ensemble_platform(model: Model) -> Iterator[Finding]:
    config = model.config
    if config.HasField("ensemble_scheduling") and config.platform != ENSEMBLE:
        place = model.at("platform" if config.platform else "ensemble_scheduling")
        message = f"an ensemble needs {_PLATFORM}, and here it is {config.platform or 'missing'}"
        effect = "Triton refuses it, and SageMaker's front end does not recognize it as the ensemble"
        instead = f' instead of backend: "{ENSEMBLE}"' if config.backend == ENSEMBLE else ""
        if config.platform:
            edits = model.file.renamed("platform", to=ENSEMBLE)
        elif instead:
            edits = model.file.renamed("backend", to=ENSEMBLE, field="platform")
        else:
            edits = model.file.before("ensemble_scheduling", line=_PLATFORM)
        yield Finding(place, message, effect, f"write {_PLATFORM}{instead}", edits=edits)


@rule(
    "An ensemble has no backend and no default_model_filename",
    bad=ensemble(SCALE, extra='backend: "python"'),
    good=ensemble(SCALE),
    words="Ensemble model '…' must have platform type 'ensemble' and empty backend type",
)
def ensemble_backend(model: Model) -> Iterator[Finding]:
    config = model.config
    if config.platform == ENSEMBLE and (config.backend or model.backend.name):
        field = "backend" if config.backend else "default_model_filename"
        message = f"an ensemble cannot have {field}"
        yield Finding(model.at(field), message, cure="delete the line; work that no step does needs its own step")


@rule(
    'A model with platform: "ensemble" has ensemble_scheduling',
    bad=Example(f'platform: "ensemble"\nmax_batch_size: 8\ninput [ {X} ]\noutput [ {Y} ]\ndynamic_batching {{ }}\n'),
    good=ensemble(SCALE),
    words="ensemble scheduling must be set for ensemble … whose platform is ensemble",
)
def ensemble_scheduling_missing(model: Model) -> Iterator[Finding]:
    config = model.config
    if config.platform == ENSEMBLE and not config.HasField("ensemble_scheduling"):
        message, scheduling = "this ensemble has no ensemble_scheduling", config.WhichOneof("scheduling_choice")
        if scheduling:
            message = f"an ensemble needs ensemble_scheduling, not {scheduling}"
        cure = "write ensemble_scheduling { step [ … ] }; batching belongs to the steps"
        yield Finding(model.at(scheduling or "platform"), message, cure=cure)


_CHECKSUM = "checksum"  # server build.py enable_all: the only repository agent of the images


@warning(
    "The repository agents of a model are those of the server",
    source="core r24.10 repo_agent.cc TritonRepoAgentManager::CreateAgent; measured on 2.51.0",
    bad=python_model('model_repository_agents { agents [ { name: "decrypt" } ] }'),
    words="unable to find 'libtritonrepoagent_decrypt.so' for repo agent",
)
def repository_agent_unknown(model: Model, destination: Destination) -> Iterator[Finding]:
    for path, agent in items("model_repository_agents.agents")(model):
        if agent.name != _CHECKSUM or not destination.image:
            message = f"no image of Triton that NVIDIA publishes has a repository agent '{agent.name}'"
            cure = suggestion(agent.name, [_CHECKSUM], 'did you mean name: "{}"?')
            if agent.name == _CHECKSUM:
                message = (
                    f"NVIDIA's images have the repository agent {_CHECKSUM}, and this project's own server does not"
                )
            effect = f"a server without it refuses the model: unable to find 'libtritonrepoagent_{agent.name}.so'"
            yield Finding(model.at(*path, "name"), message, effect, cure or "delete it, or serve the model where it is")
