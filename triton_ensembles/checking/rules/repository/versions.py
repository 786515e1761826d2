"""Folders and files of a repository: names, versions, the files of a version."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.examples import IDENTITY, python_model
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.repository import NOT_VERSIONS
from triton_ensembles.checking.rule import Example, Finding, Form, Model, Repository, Server, rule, warning
from triton_ensembles.checking.text.unknown import UnknownValueError
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.triton.backends import FALLBACK_FILES, LOADS_FILE, LOADS_NONE
from triton_ensembles.triton.model_config import CONFIG

GOOD = python_model()
SOURCE = "core r24.10 model_lifecycle.cc VersionsToLoad"
WAITS = "loading the model never ends, and other models wait for it"
NO_VERSION = "at least one version must be available under the version policy of model"


@rule(
    "A model has the name of its folder, or none",
    source="core r24.10 model_repository_manager.cc InitializeModelInfo",
    bad=Example('name: "scaler"\n' + python_model(), folder="scaling"),
    good=Example('name: "scaling-good"\n' + python_model(), folder="scaling-good"),
    words="unexpected directory name '…' for model '…', directory name must equal model name",
    lower=Severity.WARNING,
)
def model_name_differs_from_folder(model: Model) -> Iterator[Finding]:
    """Yield one fault for all folders that are named in one way, such as a prefix: their cure is one command. A model
    that is checked alone may lie in a folder of its name elsewhere: that is a warning."""
    name = model.config.name
    if name not in ("", model.folder) and not model.root and model.repository.form is Form.FOLDER:
        message = f"the model's name is '{name}', but this folder is '{model.folder}'"
        effect = f"Triton loads it where its folder is '{name}', and refuses it under the folder's name"
        cure = f"copy it into the repository as {name}/"
        yield Finding(model.at("name"), message, effect, cure, Severity.WARNING)
    if not (way := _way(model)):
        return
    alike = model.repository.once("ways of folders' names", lambda: _by_way(model.repository))[way]
    message = f"the model's name is '{model.config.name}', but its folder is '{model.folder}'"
    if way == _ANY or len(alike) == 1:
        yield Finding(model.at("name"), message, cure=f'write name: "{model.folder}", or rename the folder')
    elif model is alike[0]:
        message += f"; {len(alike)} folders differ in this way"
        cure = most_of([f"{each.folder} to {each.config.name}" for each in alike])
        yield Finding(model.at("name"), message, cure=f"rename {len(alike)} folders: {cure}")


_ANY = "any"


def _way(model: Model) -> str:
    """Return in which way the folder's name differs from that of the model, "" where it does not."""
    folder, name = model.folder, model.config.name
    # SageMaker's front end maps the folder of the ensemble to the TargetModel, and then core does not compare.
    if name in ("", folder) or not model.root or (model.repository.is_archive and model.is_ensemble):
        return ""
    ways = {
        "before": folder.endswith(name) or name.endswith(folder),
        "behind": folder.startswith(name) or name.startswith(folder),
        "case": folder.lower() == name.lower(),
    }
    return next((way for way, is_so in ways.items() if is_so), _ANY)


def _by_way(repository: Repository) -> dict[str, list[Model]]:
    ways: dict[str, list[Model]] = defaultdict(list)
    for model in repository.models_read:
        with suppress(UnknownValueError):
            ways[_way(model)].append(model)
    return ways


@rule(
    "A model has a version folder that its version policy selects",
    bad=Example(python_model(), {"01/model.py": IDENTITY}),
    good=Example(python_model(), {"10/model.py": IDENTITY}),
    words=NO_VERSION,
)
def version_not_available(model: Model) -> Iterator[Finding]:
    if not model.has_config or model.served_versions or (model.is_version_made and not model.versions):
        return
    effect = f"Triton does not load it: {NO_VERSION} '{model.name}'"
    if model.versions:
        have = ", ".join(str(number) for number in sorted(model.versions))
        policy = model.config.version_policy
        if policy.HasField("latest"):
            message, cure = "version_policy latest with num_versions 0 selects no version", "write num_versions: 1"
        else:
            selected = ", ".join(str(number) for number in policy.specific.versions) or "none"
            message = f"version_policy selects {selected}, but the versions here are {have}"
            cure = f"write versions: [ {have} ]"
        yield Finding(model.at("version_policy", policy.WhichOneof("policy_choice") or ""), message, effect, cure)
        return
    zeros = next((name for name in _folders(model) if name.startswith("0") and name.strip("0").isdecimal()), None)
    near = zeros or next((name for name in _folders(model) if re.search(r"\d", name)), None)
    message = f"'{near}' is not a valid version folder" if near else "there is no version folder"
    cure = f"rename it to {re.sub(r'[^0-9]', '', near).lstrip('0')[:18] or '1'}" if near else "make a folder 1/"
    within = {name: model.tree.folders(join(model.root, name)) for name in _folders(model)}
    beside = next((name for name, inner in within.items() if any(map(str.isdecimal, inner))), "")
    if beside and not near:
        cure = f"move {CONFIG} into {beside}/, which has one"
    elif model.is_ensemble and not near:
        cure += ", with a file in it, because git and some archivers drop empty folders"
    needs_no_file = model.is_ensemble or model.backend.name in LOADS_NONE
    makes = "1/.gitkeep" if needs_no_file and not near else ""
    yield Finding(model.place(near or ""), message, effect, cure, makes=makes)


@warning(
    "Version folders have no leading zeros and no 'v'",
    bad=Example(python_model(), {"1/model.py": IDENTITY, "02/model.py": IDENTITY}),
    good=Example(python_model(), {"1/model.py": IDENTITY, "2/model.py": IDENTITY}),
)
def version_folder_ignored(model: Model) -> Iterator[Finding]:
    if not model.served_versions:
        return
    for name in _folders(model):
        if re.fullmatch(r"0+[0-9]+|[vV][0-9]+", name):
            message = f"'{name}' is not a valid version folder"
            effect = f"Triton ignores it and serves version {model.served_versions[0]}"
            yield Finding(model.place(name), message, effect, f"rename it to {name.lstrip('vV0') or '0'}, or delete it")


@rule(
    "The name of a version folder is only its number",
    source=f"{SOURCE}: std::stoll takes '1.0' and ' 1' for 1, and then looks for a folder '1'; measured on 2.51.0",
    bad=Example(python_model(), {"1.0/model.py": IDENTITY}),
    server=Server.DIES,
)
def version_folder_unreadable(model: Model) -> Iterator[Finding]:
    if not model.has_config:
        return
    for number in model.served_versions:
        name = model.versions[number]
        if (name != str(number) or number < 0) and not model.is_ensemble:
            message = f"Triton takes the folder '{name}' for version {number} and then looks for a folder '{number}'"
            yield Finding(model.place(name), message, WAITS, f"rename it to {abs(number)}")


@warning(
    "Every version that version_policy names exists",
    bad=python_model("version_policy { specific { versions: [ 1, 2 ] } }"),
    good=python_model("version_policy { specific { versions: [ 1 ] } }"),
)
def version_missing(model: Model) -> Iterator[Finding]:
    for index, number in enumerate(model.config.version_policy.specific.versions):
        if number not in model.versions and model.served_versions:
            message = f"there is no version {number}"
            effect = "Triton logs 'the version directory is not present' and serves the others"
            cure = f"make the folder {number}/, or remove the number"
            yield Finding(model.at("version_policy", "specific", "versions", index), message, effect, cure)


@rule(
    "Each version folder has the file that the backend loads",
    source="backends of r24.10; measured on 2.51.0 for model.py: the stub exits, and the server waits for it forever",
    bad=Example(python_model(), {"1": None}),
    good=Example(python_model('default_model_filename: "scale.py"'), {"1/scale.py": IDENTITY}),
    server=Server.DIES,
)
def model_file_missing(model: Model) -> Iterator[Finding]:
    backend, recipe = model.backend, model.repository.recipe
    if not model.has_config or not backend.file or model.is_ensemble or model.config.cc_model_filenames:
        return
    if backend.name not in LOADS_FILE:
        return
    for number in model.served_versions:
        folder = model.versions[number]
        files = (backend.file, *FALLBACK_FILES.get(backend.name, ()))
        if any(model.get(join(folder, name)) for name in files):
            continue
        if recipe and recipe.makes_file_to_load(model.folder, folder, backend.name, files):
            continue
        message = f"version {number} has no {backend.file}, which the {backend.name} backend loads"
        effect = WAITS if backend.name == "python" else "Triton does not load the model"
        there = [name for name in model.children(folder) if not name.startswith((".", "_", "README"))]
        named = f'default_model_filename: "{there[0] if len(there) == 1 else "…"}"'
        cure = f"put {backend.file} there, or name the file that is there: {named}"
        yield Finding(model.place(folder), message, effect, cure)


def _folders(model: Model) -> list[str]:
    return [name for name in model.tree.folders(model.root) if name not in NOT_VERSIONS]


@rule(
    "A version number fits into 64 bits",
    source=f"{SOURCE}: std::stoll throws std::out_of_range, which nothing catches; measured on 2.51.0",
    bad=Example(python_model(), {"1/model.py": IDENTITY, "20260101000000000000/model.py": IDENTITY}),
    good=Example(python_model(), {"1/model.py": IDENTITY, "202601010000/model.py": IDENTITY}),
    server=Server.DIES,
)
def version_folder_too_large(model: Model) -> Iterator[Finding]:
    for name in _folders(model):
        match = re.match(r"\s*[+-]?(\d+)", name)
        if match and int(match[1][:40]) >= 2**63 and not name.startswith("0"):
            message = "this version number does not fit into 64 bits"
            effect = "tritonserver crashes with std::out_of_range"
            yield Finding(model.place(name), message, effect, "choose a number of at most 18 digits")
