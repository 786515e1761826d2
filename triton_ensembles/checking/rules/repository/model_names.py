"""Names of models: a shell command that starts a Python stub has them, and so do the URLs of HTTP clients."""

import re
from collections.abc import Iterator

from triton_ensembles.checking.ensemble_steps import step_names
from triton_ensembles.checking.examples import IDENTITY, ensemble, python_model, step
from triton_ensembles.checking.rule import (
    Destination,
    Example,
    Finding,
    Form,
    Model,
    Repository,
    Server,
    Severity,
    rule,
    warning,
)
from triton_ensembles.checking.rules.repository.versions import WAITS
from triton_ensembles.checking.sagemaker import served_models
from triton_ensembles.sagemaker.contract import SHELL_CHARACTERS

SOURCE = 'python_backend r24.10 stub_launcher.cc: bash -c "exec <stub> <path> … <name>"; measured on 2.51.0'
# What a shell does not take as it stands: separators, quotes, redirections, comments, variables and braces to expand.
SHELL_SYNTAX = re.compile(
    r"""[ \t\n'"`\\&;|<>()]|\A\#|\$[A-Za-z0-9_@*\#?$!({-]"""
    r"""|\{[^{}]*,[^{}]*\}|\{(?:-?\d+\.\.-?\d+|[A-Za-z]\.\.[A-Za-z])(?:\.\.-?\d+)?\}"""
)
STUBS_WITHOUT_SHELL = (25, 8)
_SAFE = "use letters, digits, '.', '-' and '_'"
_RENAME = f"rename the folder (and model_name in ensembles): {_SAFE}"


def _named(name: str) -> Example:
    files: dict[str, str | None] = {f"{name}/config.pbtxt": python_model(), f"{name}/1/model.py": IDENTITY}
    return Example(ensemble(step(name, {"X": "X"}, {"Y": "Y"})), beside=files)


def _is_named_python(model: Model) -> bool:
    """Return whether this is a Python model whose name is that of a folder, and not that of an archive."""
    named = model.root != "" or not model.repository.is_archive
    return named and model.is_python


def _shell_syntax(model: Model) -> re.Match[str] | None:
    return SHELL_SYNTAX.search(model.folder) if _is_named_python(model) else None


@rule(
    "The name of a Python model has no blanks, quotes or other syntax of a shell",
    bad=_named("scale, then shift"),
    good=_named("scale_then_shift"),
    server=Server.DIES,
)
def python_model_name(model: Model) -> Iterator[Finding]:
    if match := _shell_syntax(model):
        message = f"the name of this Python model contains {match.group()!r}"
        effect = f"Triton starts its stub by a shell command that has the name in it: {WAITS}"
        yield Finding(model.place(), message, effect, _RENAME)


@rule(
    "The name of a Python model is ASCII",
    source="measured on 2.51.0: the stub decodes file names as ASCII, whatever LANG, LC_ALL and PYTHONUTF8 say",
    bad=_named("détecteur"),
    good=_named("detecteur"),
    words="UnicodeEncodeError: 'ascii' codec can't encode character",
)
def python_model_name_ascii(model: Model) -> Iterator[Finding]:
    strange = next((letter for letter in model.folder if not letter.isascii()), None)
    if strange and _is_named_python(model) and not _shell_syntax(model):
        message = f"the name of this Python model contains {strange!r}, which is not ASCII"
        yield Finding(model.place(), message, cure=_RENAME)


@warning(
    "The name of a Python model has no character that Triton refuses since release 25.08",
    source="python_backend r25.08 stub_launcher.cc: Invalid stub name",
    since="25.08",
    bad=_named("scale[0]"),
    good=_named("scale_0"),
)
def python_model_name_future(model: Model, destination: Destination) -> Iterator[Finding]:
    match = SHELL_CHARACTERS.search(model.folder)
    if match and _is_named_python(model) and model.folder.isascii() and not _shell_syntax(model):
        since = "" if destination.release >= STUBS_WITHOUT_SHELL else " since release 25.08"
        older = ", and for older ones it is a pattern that may match other folders" if match.group() in "*?[" else ""
        message = f"the name of this Python model contains {match.group()!r}"
        effect = f"Triton refuses it{since} (Invalid stub name){older}"
        yield Finding(model.place(), message, effect, _RENAME)


@warning(
    "A model that clients ask has a name that needs no escapes in a URL",
    source="measured on 2.51.0: the HTTP server does not decode %2B, and tritonclient.http escapes such characters",
    bad=Example(python_model(), folder="scale+shift"),
    good=Example(python_model(), folder="scale-shift"),
    server=Server.UNTESTED,  # here: the tests also load models over HTTP
)
def model_name_in_url(model: Model) -> Iterator[Finding]:
    strange = re.search(r"[^A-Za-z0-9_.~-]", model.folder)
    if not strange or model.repository.form is not Form.FOLDER or model.repository.is_one_model:
        return
    if model.is_python and (
        not model.folder.isascii() or SHELL_CHARACTERS.search(model.folder) or _shell_syntax(model)
    ):
        return  # the rules above report it
    if model.folder in step_names(model.repository):
        return
    message = f"the name of this model contains {strange.group()!r}, which clients escape in a URL"
    effect = "only gRPC clients reach it: over HTTP, Triton answers 400, Request for unknown model"
    yield Finding(model.place(), message, effect, f"rename the folder: {_SAFE}")


@warning("The path of a repository with Python models has no blanks, quotes or other syntax of a shell")
def repository_path_in_shell(repository: Repository) -> Iterator[Finding]:
    """Look only at a folder that Triton reads: an archive is unpacked elsewhere, and ``build/`` has no such path."""
    path = str(repository.path.resolve() if repository.is_one_model else repository.path.resolve() / "_")
    folder = path.rpartition("/")[0]
    if repository.form is not Form.FOLDER or not _has_python(repository):
        return
    match = SHELL_SYNTAX.search(folder) or re.search(r"[^\x00-\x7f]", folder)
    if match:
        message = f"the path of this repository contains {match.group()!r}: {folder}"
        effect = f"Triton starts the stubs of Python models by a shell command that has the path in it: {WAITS}"
        if not match.group().isascii():
            effect = "stubs of Python models do not start: UnicodeEncodeError: 'ascii' codec can't encode character"
        yield Finding(repository.place(), message, effect, f"serve it from another folder: {_SAFE}")


@rule("The name of an ensemble is one that its Python steps can have")
def ensemble_folder_name(repository: Repository) -> Iterator[Finding]:
    """In ensembles/: the build calls its steps ``<ensemble>.<step>``."""
    name = repository.path.resolve().name
    match = SHELL_SYNTAX.search(name) or re.search(r"[^\x00-\x7f]", name)
    if match and repository.builds and _has_python(repository):
        message = f"the name of this ensemble contains {match.group()!r}, and the build calls its steps {name}.<step>"
        effect = f"no Python step with such a name starts: {WAITS}"
        yield Finding(repository.place(), message, effect, f"rename the folder: {_SAFE}")


def _served_python(repository: Repository) -> bool:
    """Return whether it is an archive whose model, a Python model, gets the archive's name on SageMaker."""
    models = served_models(repository) if repository.is_archive else ()
    return any(model.is_python and not model.is_ensemble for model in models)


@rule(
    "The name of an archive with a single Python model has no blanks or special characters of the shell",
    source=f"{SOURCE}; python_backend r25.08 stub_launcher.cc: Invalid stub name",
    lower=Severity.WARNING,
)
def sagemaker_stub_name(repository: Repository, destination: Destination) -> Iterator[Finding]:
    name = repository.path.name
    in_shell = SHELL_SYNTAX.search(name)
    match = in_shell or SHELL_CHARACTERS.search(name)
    if match and not destination.single and _served_python(repository):
        message = f"the name of this archive contains {match.group()!r}, and its model is a Python model"
        effect = "SageMaker gives the model this name, and a shell command starts its stub: the model never loads"
        if not in_shell:
            since = "" if destination.release >= STUBS_WITHOUT_SHELL else " since release 25.08"
            effect = "SageMaker names the model after the archive, and its stub after the model; Triton refuses it"
            effect = f"{effect}{since}: Invalid stub name"
        yield Finding(repository.place(), message, effect, _SAFE, None if in_shell else Severity.WARNING)


def _has_python(repository: Repository) -> bool:
    return any(model.is_python for model in repository.models)
