"""The steps of an ensemble and the models that they name: core r24.10 ensemble_utils.cc ValidateEnsembleConfig."""

from collections.abc import Iterator
from contextlib import suppress

from triton_ensembles.checking.completed import may_have_more_tensors
from triton_ensembles.checking.dataflow import rings
from triton_ensembles.checking.ensemble_steps import steps, swaps
from triton_ensembles.checking.examples import SCALE, ensemble, step
from triton_ensembles.checking.rule import Example, Finding, Model, Repository, rule
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import listed, nearest, only_near

SOURCE = "core r24.10 ensemble_utils.cc ValidateTensorMapping"
GOOD = ensemble(SCALE)
_SHOWN = 12  # ensembles of a ring
_MOST_COMPARED = 100  # models; each unknown name is compared with all of them


@rule(
    "Every step names a model of the repository",
    source="core r24.10 model_repository_manager.cc ConnectDependencyGraph",
    bad=ensemble(step("scales", {"X": "X"}, {"Y": "Y"})),
    words="ensemble … contains models that are not available or ambiguous: …",
)
def step_model_missing(model: Model) -> Iterator[Finding]:
    for item in steps(model):
        name = item.message.model_name
        if name and item.model is None:
            neighbors = model.repository.models if len(model.repository.models) <= _MOST_COMPARED else ()
            if any(neighbor.name == name for neighbor in neighbors):
                continue  # model-name-differs-from-folder
            known = [neighbor.folder for neighbor in neighbors if neighbor.folder != model.folder]
            models = f"the models here are {listed(known)}" if known else "add the model to the repository"
            folder, _, last = name.rpartition("/")
            guess = nearest(name, known) if not folder else last if last in known else nearest(last, known)
            cure = f'did you mean model_name: "{guess}"?' if guess else models
            if folder and model.repository.tree.is_folder(name):
                cure = f'Triton looks in no deeper folder: move {name} out of {folder}, and write model_name: "{last}"'
            path = (*item.path, "model_name")
            edits = model.file.renamed(*path, to=guess) if guess == only_near(name, known) else ()
            yield Finding(model.at(*path), f"there is no model '{name}'", cure=cure, edits=edits)


@rule(
    "Every step names a version that its model serves, or -1 for the newest",
    source="core r24.10 model_repository_manager.cc CheckNode; protobuf takes a missing model_version for 0",
    bad=ensemble(step("scale", {"X": "X"}, {"Y": "Y"}, version="")),
    good=ensemble(step("scale", {"X": "X"}, {"Y": "Y"}, version="model_version: 1")),
    words="ensemble '…' depends on '…' whose required version … is not loaded",
)
def step_version_not_served(model: Model) -> Iterator[Finding]:
    for item in steps(model):
        with suppress(UnknownValueError):
            version = item.message.model_version
            served = item.model.served_versions if item.model and version != -1 else []
            if not served or version in served:
                continue
            name, versions = item.message.model_name, ", ".join(str(number) for number in sorted(served))
            field = "model_version"
            message = f"step {item.number} asks for version {version} of '{name}', which serves {versions}"
            if not model.file.has(*item.path, field):
                field = "model_name"
                message = f"step {item.number} has no model_version, which means version 0; '{name}' serves {versions}"
            yield Finding(model.at(*item.path, field), message, cure="write model_version: -1")


def _unknown(kind: str, example: str, words: str) -> None:
    @rule(f"{kind}_map names {kind}s that the model has", id=f"step-{kind}-unknown", bad=example, words=words)
    def find(model: Model) -> Iterator[Finding]:
        for item in steps(model):
            if item.configured is None or may_have_more_tensors(item.configured):
                continue
            with suppress(UnknownValueError):
                known = [tensor.name for tensor in getattr(item.configured.config, kind)]
                if not all(known):  # tensor-name-missing reports it
                    continue
                pairs = getattr(item.message, f"{kind}_map")
                swapped = swaps(model).get(item.number, [])
                yield from (finding for place, finding in swapped if place == f"{kind}_map")
                if swapped:
                    continue
                for key in sorted(set(pairs) - set(known)):
                    unused = [name for name in known if name not in pairs]
                    guess = nearest(key, unused) or nearest(key, known)
                    message = f"'{item.message.model_name}' has no {kind} '{key}'"
                    cure = f'did you mean key: "{guess}"?' if guess else f"its {kind}s are {listed(known)}"
                    path = (*item.path, f"{kind}_map", key, "key")
                    edits = model.file.renamed(*path, to=only_near(key, unused))
                    yield Finding(model.at(*path), message, cure=cure, edits=edits)


_unknown(
    "input",
    ensemble(step("scale", {"x": "X"}, {"Y": "Y"})),
    "in ensemble …, ensemble tensor … is mapping to non-existing input … in model …",
)
_unknown(
    "output",
    ensemble(step("scale", {"X": "X"}, {"OUT": "Y"})),
    "in ensemble …, ensemble tensor … is mapped from non-existing output … in model …",
)


@rule(
    "Every input of a step's model is mapped, unless it is optional",
    bad=ensemble(step("join", {"A": "X"}, {"SUM": "Y"})),
    good=ensemble(step("join", {"A": "X", "B": "X"}, {"SUM": "Y"})),
    words="in ensemble …, input … in model … is not mapped to any ensemble tensors",
)
def step_input_not_mapped(model: Model) -> Iterator[Finding]:
    for item in steps(model):
        with suppress(UnknownValueError):
            if item.configured is None or not item.message.input_map or item.number in swaps(model):
                continue
            known = [tensor.name for tensor in item.configured.config.input]
            unknown = [key for key in item.message.input_map if key not in known]
            for tensor in item.configured.config.input:
                if not tensor.name or tensor.name in item.message.input_map or tensor.optional:
                    continue
                if nearest(tensor.name, unknown):  # step-input-unknown reports it
                    continue
                message = f"the input '{tensor.name}' of '{item.message.model_name}' is not mapped"
                cure = f'write input_map {{ key: "{tensor.name}" value: "…" }}, or make it optional in its model'
                yield Finding(model.at(*item.path, "input_map"), message, cure=cure)


@rule(
    "An ensemble's max_batch_size is not larger than that of a step that batches",
    source="core r24.10 ensemble_utils.cc ValidateEnsembleConfig",
    bad=ensemble(SCALE, size=16),
    good=ensemble(SCALE, size=4),
    words="ensemble … allows maximum batch size …, but it contains model … "
    "which only allows maximum batch size to be …",
)
def ensemble_batch_size(model: Model) -> Iterator[Finding]:
    most = model.config.max_batch_size
    for item in steps(model):
        with suppress(UnknownValueError):
            allowed = item.configured.config.max_batch_size if item.configured else 0
            if 0 < allowed < most:
                message = f"the ensemble accepts batches of {most}, but '{item.message.model_name}' only of {allowed}"
                cure = f"write max_batch_size: {allowed} here, or {most} in {item.message.model_name}"
                yield Finding(model.at("max_batch_size"), message, cure=cure)


def _nested(name: str, model: str, folder: str = "") -> Example:
    inner = ensemble(step(model, {"X": "X"}, {"Y": "Y"}))
    outer = ensemble(step(name, {"X": "X"}, {"Y": "Y"}))
    return Example(outer, beside={f"{name}/config.pbtxt": inner, f"{name}/1": None}, folder=folder)


@rule(
    "No ensemble is a step of itself, directly or through another one",
    source="core r24.10 model_repository_manager.cc CircularDependencyCheck",
    bad=_nested("round-trip", "there-and-back", folder="there-and-back"),
    good=_nested("one-way", "scale"),
    words="circular dependency between ensembles",
)
def ensemble_of_itself(model: Model) -> Iterator[Finding]:
    """Reported once for each cycle: at the ensemble whose name comes first."""
    ring = model.repository.once("rings", lambda: _rings(model.repository)).get(model.folder)
    item = next((item for item in steps(model) if item.message.model_name == ring[1]), None) if ring else None
    if ring and item:
        names = ring if len(ring) <= _SHOWN + 1 else [*ring[:_SHOWN], "…", ring[0]]
        message = f"this ensemble is a step of itself: {' -> '.join(names)}"
        yield Finding(model.at(*item.path, "model_name"), message, cure="remove the step")


def _rings(repository: Repository) -> dict[str, list[str]]:
    """Paths from an ensemble to itself by way of its steps, by the first of the names on them; no two share one."""
    graph = {user.folder: [item.message.model_name for item in steps(user)] for user in repository.ensembles}
    return {ring[0]: [ring[0], *reversed(ring)] for ring in rings(graph)}
