"""Folders of a repository that are not models, links in it, and configs that do not have the name that Triton reads."""

from collections.abc import Iterator

from google.protobuf import text_format

from triton_ensembles.archive.tree import Kind
from triton_ensembles.checking.completed import CompletedModel, completed
from triton_ensembles.checking.config_file import is_near_config
from triton_ensembles.checking.ensemble_steps import step_names, steps
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.rule import Destination, Example, Finding, Form, Model, Repository, Server, rule, warning
from triton_ensembles.checking.sagemaker import is_packed
from triton_ensembles.ground.spelling import listed
from triton_ensembles.triton.backends import BACKENDS
from triton_ensembles.triton.model_config import CONFIG, ModelConfig

SOURCE = "core r24.10 model_repository_manager.cc Poll, InitializeModelInfo; measured on 2.51.0"
GOOD = python_model()
NOT_READ = "failed to open text file for read"
_BY_DEFAULT = "by default, as on SageMaker; with --disable-auto-complete-config it refuses the model"
# Made by tools, which make them again: they are deleted, or kept elsewhere.
_OF_TOOLS = {
    "__pycache__": "delete it, and start Python there with PYTHONDONTWRITEBYTECODE=1",
    ".ipynb_checkpoints": "delete it",
    ".git": "let the models be a folder of the git repository, and serve that one",
}


@rule(
    "The file of a model's configuration is called config.pbtxt",
    bad=Example(None, {"Config.pbtxt": GOOD, "1/model.py": IDENTITY}),
    words=NOT_READ,
)
def config_misnamed(model: Model) -> Iterator[Finding]:
    misnamed = None if model.has_config else misnamed_config(model)
    if misnamed:
        effect = f"Triton refuses the model ({NOT_READ} …/{CONFIG}), or completes an empty configuration"
        if model.repository.builds:
            effect = "the build leaves the folder out"
        cure = f"rename it to {CONFIG}" if "/" not in misnamed else f"move it up: {model.folder}/{CONFIG}"
        yield Finding(model.place(misnamed), f"Triton reads {CONFIG}, and this is {misnamed}", effect, cure)


@rule(
    "Every folder of a repository is a model",
    source=f"{SOURCE}; server r24.10 src/sagemaker_server.cc",
    bad=Example(GOOD, beside={"bad_docs/README.md": "Our models.\n"}),
    lower=Severity.WARNING,
    server=Server.UNTESTED,  # here: the tests load single models; test_folders.py loads the whole repository
)
def folder_not_a_model(model: Model, destination: Destination) -> Iterator[Finding]:
    """Yield a warning for what is packed beside an ensemble: SageMaker's front end loads no other folder."""
    repository, steps_of_ensembles = model.repository, step_names(model.repository)
    lacks = "a version folder" if not model.versions else "a model file in its version folder"
    message = f"this folder is not a model: it has neither a {CONFIG} nor {lacks}"
    if repository.builds or not _is_stray(model):
        return
    if is_packed(repository, destination):
        if steps_of_ensembles and model.folder not in steps_of_ensembles:  # sagemaker-no-ensemble, step-not-a-model
            effect = "SageMaker ignores it beside an ensemble; a tritonserver in its default mode does not start"
            yield Finding(model.place(), message, effect, "leave it out of the archive", Severity.WARNING)
    elif not any(name.startswith(f"{model.folder}/") for name in steps_of_ensembles):  # step-model-missing
        effect = "unless the server runs in explicit mode, it does not start: failed to load all models"
        yield Finding(model.place(), message, effect, _OF_TOOLS.get(model.folder, "move it out of the repository"))


@warning(
    "The config.pbtxt of a model is in the folder of the model", source="core r24.10 Poll: only folders are models"
)
def config_outside(repository: Repository) -> Iterator[Finding]:
    if repository.form is Form.FOLDER and not repository.is_one_model and repository.tree.get(CONFIG):
        message = "this config.pbtxt is beside the models, not in the folder of one"
        cure = f"move it into a folder of its own: NAME/{CONFIG}, with a version folder NAME/1/"
        yield Finding(repository.place(CONFIG), message, "Triton does not read it: no model comes of it", cure)


@rule(
    "A step of an ensemble is a model", source="core r24.10 ConnectDependencyGraph; the build leaves other folders out"
)
def step_not_a_model(model: Model, destination: Destination) -> Iterator[Finding]:
    source = model.repository.builds
    for item in steps(model) if source or is_packed(model.repository, destination) else ():
        step = item.model
        if step and not step.has_config and not misnamed_config(step) and (source or _is_stray(step)):
            message = f"the folder '{step.folder}' has no {CONFIG}"
            refused = f"Triton refuses the ensemble: models that are not available or ambiguous: {step.folder}"
            effect = f"the build leaves it out, and {refused}" if source else refused
            yield Finding(model.at(*item.path, "model_name"), message, effect, f"write {step.folder}/{CONFIG}")


@rule(
    "Every model has a config.pbtxt",
    source=f"{SOURCE}; backends r24.10 AutoCompleteConfig",
    severity=Severity.WARNING,
    lower=Severity.NOTE,
    bad=Example(None, {"1/model.py": IDENTITY}),
    words=NOT_READ,
)
def model_without_config(model: Model) -> Iterator[Finding]:
    """Yield a note where the ONNX file says all, and an error where a backend completes nothing of what it needs."""
    if model.has_config or not _is_loadable(model) or misnamed_config(model):
        return
    if model.repository.builds and model.folder in step_names(model.repository):
        return  # step-not-a-model reports it
    backend, whole = model.backend.name, completed(model)
    message = f"this model has no {CONFIG}, so its inputs and outputs are not checked"
    effect, severity = f"Triton asks the {backend} backend for them {_BY_DEFAULT}", None
    written = f'write {model.folder}/{CONFIG}: backend: "{backend}", max_batch_size, input and output'
    cure = f"{written}; or copy GET /v2/models/<name>/config of a running server, the completed configuration"
    if model.repository.builds:
        effect = "the build leaves it out"
    elif isinstance(whole, CompletedModel):
        names = listed(tensor.name for tensor in (*whole.config.input, *whole.config.output))
        message = f"this model has no {CONFIG}: Triton takes {names} from its file"
        effect, severity = f"it does so {_BY_DEFAULT}", Severity.NOTE
        cure = f"write {model.folder}/{CONFIG} as Triton completes it: {_in_one_line(whole.config, backend)}"
    elif backend == "pytorch":
        effect = f"the {backend} backend completes none, and Triton refuses the model: it must contain at least one"
        cure, severity = written, Severity.ERROR
    yield Finding(model.place(), message, effect, cure, severity)


def _in_one_line(config: ModelConfig, backend: str) -> str:
    whole = ModelConfig(backend=backend)
    whole.MergeFrom(config)
    whole.ClearField("name")
    return str(text_format.MessageToString(whole, as_one_line=True))


def misnamed_config(model: Model) -> str | None:
    """The file that was probably meant as the config.pbtxt of a model that has none, within the model's folder."""
    for folder in ("", *model.versions.values()):
        for name in model.children(folder):
            path = f"{folder}/{name}" if folder else name
            if is_near_config(name) or (folder and name == CONFIG):
                entry = model.get(path)
                if entry and not entry.is_folder:
                    return path
    return None


def _is_stray(model: Model) -> bool:
    return not (model.has_config or _is_loadable(model) or misnamed_config(model))


def _is_loadable(model: Model) -> bool:
    """Return whether a server that completes configurations could load a folder without one."""
    name = model.backend.name  # of the model's file, or what follows the dot of the folder's name
    return bool(model.versions) and (name in BACKENDS or model.has_library(f"libtriton_{name}.so"))


@rule("Links in a repository and in its models lead somewhere", source="core r24.10 filesystem local.h IsDirectory")
def link_broken(repository: Repository) -> Iterator[Finding]:
    """Deeper ones do no harm. Editors lock a file by such a link: Emacs by .#config.pbtxt."""
    for entry in repository.tree.members if repository.form is Form.FOLDER else ():
        depth = entry.path.count("/") + repository.is_one_model
        if entry.kind is Kind.SYMLINK and depth < 2 and not (repository.path / entry.path).exists():
            unloaded = "does not load the model" if depth else "loads no model of the repository"
            effect = f"Triton {unloaded}: failed to stat file"
            message = f"the link '{entry.path}' leads nowhere ('{entry.target}')"
            yield Finding(repository.place(entry.path), message, effect, "remove it, or correct its target")
