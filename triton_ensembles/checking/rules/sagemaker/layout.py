"""The model of an archive that SageMaker serves, and whether there is one."""

from collections.abc import Iterator, Sequence

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.examples import IDENTITY, SCALE, ensemble, python_model
from triton_ensembles.checking.python.model_calls import callees
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Repository, Server, rule, warning
from triton_ensembles.checking.sagemaker import for_sagemaker, is_of_gateway, is_packed, served_models
from triton_ensembles.ground.spelling import listed
from triton_ensembles.sagemaker.contract import ENSEMBLE
from triton_ensembles.triton.destination import SingleModel
from triton_ensembles.triton.model_config import CONFIG
from triton_ensembles.triton.sagemaker_variables import DEFAULT_MODEL

SOURCE = "server r24.10 src/sagemaker_server.cc SageMakerMMELoadModel"
_LINE = 'platform: "ensemble"'
DESTINATION = Destination(instance="ml.m5.xlarge")  # an example is a folder, which is then packed as it is
GOOD = ensemble(SCALE)
_PLAIN = python_model()
_OF_A_CALLER = (
    "build the fused form, in which models call each other (build REPOSITORY --target fused), or serve the caller "
    "alone: build --single, deploy --single"
)
_LAST_FOLDER = "SageMaker serves the last folder that the file system lists, which differs between machines"


def _beside(config: str, *names: str) -> dict[str, str | None]:
    inner: dict[str, str | None] = {"1": None} if "ensemble_scheduling" in config else {"1/model.py": IDENTITY}
    return {f"{name}/{path}": text for name in names for path, text in {CONFIG: config, **inner}.items()}


def _packed_models(repository: Repository, destination: Destination) -> Sequence[Model]:
    """The models of an archive from which SageMaker chooses one: none of the gateway, nor of an archive with one."""
    several = is_packed(repository, destination) and not repository.is_one_model and len(repository.models) > 1
    return repository.models if several and not is_of_gateway(repository) and not destination.single else ()


@rule("An archive has at least one model, at its root", source=f"{SOURCE}; measured on 2.51.0", server=Server.REFUSES)
def sagemaker_no_model(repository: Repository) -> Iterator[Finding]:
    if not repository.is_archive or repository.is_one_model or (repository.tree.problems and not repository.models):
        return
    models, tree = repository.models, repository.tree
    wrapped = {model: [each for each in tree.folders(model.root) if model.get(f"{each}/{CONFIG}")] for model in models}
    for model, inside in wrapped.items() if not any(model.has_config for model in models) else ():
        if inside:
            folder = model.folder
            message = f"the models ({listed(inside)}) are in a folder '{folder}', not at the root of the archive"
            effect = f"Triton takes '{folder}' for the model and refuses it: at least one version must be available"
            cure = f"pack what is in the folder: tar -C {folder} -czf {repository.path.name} ."
            yield Finding(model.place(), message, effect, cure)
    if any(wrapped.values()) or any(model.has_config or model.versions for model in models):
        return
    message = "there is no model in this archive: no folder at its root has a config.pbtxt or a version folder"
    effect = "Triton refuses it at the first request: at least one version must be available under the version policy"
    cure = f"pack a model repository: tar -C <the folder whose folders are the models> -czf {repository.path.name} ."
    yield Finding(repository.place(), message, effect, cure)


@rule(
    "An ensemble's config.pbtxt is in the folder of the ensemble, not at the root of the archive",
    source=f"{SOURCE}: with config.pbtxt at the root, the archive is that one model",
)
def sagemaker_root_config(repository: Repository, destination: Destination) -> Iterator[Finding]:
    if not repository.is_archive or not repository.is_one_model or destination.single:
        return
    tree = repository.tree
    hidden = [name for name in tree.folders() if tree.get(join(name, CONFIG))]
    if hidden:
        message = f"config.pbtxt is at the root of the archive, beside the models {listed(hidden)}"
        effect = "SageMaker serves the archive as one model; an ensemble fails: failed to poll from model repository"
        cure = f"move it into its own folder: <ensemble>/{CONFIG}, with an empty <ensemble>/1/"
        yield Finding(repository.place(CONFIG), message, effect, cure)


@rule(
    "An archive has only one ensemble",
    source=f"{SOURCE}; measured on 2.51.0: 200, and only one of them is served",
    bad=Example(GOOD, beside=_beside(GOOD, "another_ensemble")),
)
def sagemaker_several_ensembles(repository: Repository, destination: Destination) -> Iterator[Finding]:
    models = _packed_models(repository, destination)
    ensembles = [model for model in models if model.is_ensemble and ENSEMBLE.search(model.file.text)]
    inner = {step.model_name for model in ensembles for step in model.config.ensemble_scheduling.step}
    nested = [model.folder for model in ensembles if model.folder in inner]
    calls = any(callees(model) for model in models if model not in ensembles)
    for model in ensembles[1:]:
        neighbors = [neighbor.folder for neighbor in ensembles if neighbor is not model]
        message = f"this is one of {len(ensembles)} ensembles of the archive, beside {listed(neighbors)}"
        effect = _LAST_FOLDER + (f" ({listed(nested)} counts although it is a step of another)" if nested else "")
        cure = "put each ensemble into its own archive, or serve one of them alone: deploy --single"
        cure += ", with the steps of the inner ensemble copied into the outer one" if nested else ""
        yield Finding(model.at("platform"), message, effect, _OF_A_CALLER if calls and not nested else cure)


@warning(
    "The model that calls the ensemble of its archive is the one that is served", source=f"{SOURCE}; measured on 2.51.0"
)
def sagemaker_caller_not_served(repository: Repository, destination: Destination) -> Iterator[Finding]:
    models = _packed_models(repository, destination)
    ensembles = [model for model in models if model.is_ensemble]
    for model in models if len(ensembles) == 1 else ():
        if not model.is_ensemble and ensembles[0] in callees(model):
            message = f"this model calls '{ensembles[0].folder}', the ensemble of the archive"
            effect = "SageMaker serves the ensemble, so no request reaches this model"
            yield Finding(model.place(), message, effect, _OF_A_CALLER)


@rule(
    "An archive of several folders has an ensemble",
    source=f"{SOURCE}; measured on 2.51.0",
    bad=Example(_PLAIN, beside=_beside(_PLAIN, "another_model")),
)
def sagemaker_no_ensemble(repository: Repository, destination: Destination) -> Iterator[Finding]:
    models = _packed_models(repository, destination)
    if any(model.is_ensemble or ENSEMBLE.search(model.file.text) for model in models):
        return
    if not any(model.has_config for model in models):
        return
    stray = [model.folder for model in models if not model.has_config and not model.versions]
    folders = listed(model.folder for model in models)
    message = f"the archive has {len(models)} folders ({folders}), and none is an ensemble"
    cure = "add an ensemble that uses them, or put each model into its own archive"
    if stray and len(stray) == len(models) - 1:
        cure = f"remove {listed(stray)} from the archive"
    elif any(map(callees, models)):
        cure = _OF_A_CALLER
    yield Finding(repository.place(), message, _LAST_FOLDER, cure)


@rule(
    "A single-model endpoint knows which model of the archive it serves",
    source="server r24.10 docker/sagemaker/serve: Incorrect directory structure; No model found; More than 1 model "
    "directory found in model repository",
    bad=Example(_PLAIN, beside=_beside(_PLAIN, "beside_it")),
    good=Example(_PLAIN),
    destination=Destination(single=SingleModel()),
)
def sagemaker_single_model(repository: Repository, destination: Destination) -> Iterator[Finding]:
    if not destination.single or not is_packed(repository, destination) or is_of_gateway(repository):
        return
    if repository.is_one_model and repository.is_archive:
        effect = "the container of a single-model endpoint does not start: Incorrect directory structure"
        cure = "put the model's folder into the archive, not its content, or use a multi-model endpoint, which takes it"
        yield Finding(repository.place(CONFIG), f"{CONFIG} is at the root of the archive", effect, cure)
        return
    served, named = served_models(repository, destination), destination.single.model
    models = listed([model.folder for model in served or repository.models])
    effect = "the container does not start, as it is to load one model and what that one needs"
    if named and not served:
        cure = f"name one of the archive's folders: {models}"
        yield Finding(repository.place(), f"{DEFAULT_MODEL} is '{named}', which is not in the archive", effect, cure)
    elif len(served) > 1 and named is not None:
        message = f"a single-model endpoint serves one model, and any of these may be meant: {models}"
        yield Finding(repository.place(), message, effect, f"name it: --env {DEFAULT_MODEL}={served[0].folder}")


@rule(
    'The ensemble has exactly the text platform: "ensemble"',
    source=f'{SOURCE}, which looks for platform:(\\s)*"ensemble" with a regular expression in the text',
    bad=ensemble(SCALE, platform="platform: 'ensemble'"),
)
def sagemaker_ensemble_not_seen(model: Model, destination: Destination) -> Iterator[Finding]:
    repository, platform, text = model.repository, model.config.platform, model.file.text
    if not for_sagemaker(repository, destination) or len(repository.models) < 2 or is_of_gateway(repository):
        return
    if destination.single:
        return
    if not model.is_ensemble or not model.has_config or not text or ENSEMBLE.search(text):
        return
    if repository.builds and platform == "ensemble":
        return  # the build writes its own config.pbtxt
    place = model.at("platform" if platform else "ensemble_scheduling")
    here = f", and here is {text.splitlines()[place.line - 1].strip()[:80]}" if platform else ", and there is none"
    message = f"SageMaker does not recognize this as the ensemble: it looks for the text {_LINE}" + here
    effect = "it serves the last folder in the order in which the file system lists them, which may be a step"
    yield Finding(place, message, effect, f"write {_LINE}")


@rule(
    'Only the ensemble has the text: platform: "ensemble"',
    source=f"{SOURCE}, whose regular expression also finds comments and strings",
    bad=Example(
        '# not a platform: "ensemble", but a step of one\n' + _PLAIN,
        {"1/model.py": IDENTITY},
        beside=_beside(GOOD, "ensemble_beside_it"),
    ),
    good=Example(
        "# not an ensemble, but a step of one\n" + _PLAIN,
        {"1/model.py": IDENTITY},
        beside=_beside(GOOD, "ensemble_with_it"),
    ),
)
def sagemaker_ensemble_mistaken(model: Model, destination: Destination) -> Iterator[Finding]:
    match = ENSEMBLE.search(model.file.text)
    if match and not model.is_ensemble and _packed_models(model.repository, destination):
        message = f"this is not an ensemble, but its text has {_LINE} (comments and strings count)"
        cure = "use other words, such as: # a step of the ensemble"
        yield Finding(model.file.place(match.start()), message, f"it may be taken for one: {_LAST_FOLDER}", cure)
