"""Names of models: a shell command that starts a Python stub has them, and so do the URLs of HTTP clients."""

import re
from collections.abc import Iterator

from triton_ensembles.checking.ensemble_steps import step_names
from triton_ensembles.checking.examples import IDENTITY, ensemble, python_model, step
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.rule import Destination, Example, Finding, Form, Model, Repository, Server, rule, warning
from triton_ensembles.checking.rules.repository.versions import WAITS
from triton_ensembles.checking.sagemaker import served_models
from triton_ensembles.sagemaker.contract import SHELL_CHARACTERS

SOURCE = 'python_backend r24.10 stub_launcher.cc: bash -c "exec <stub> <path> … <name>"; measured on 2.51.0'
# What a shell does not take as it stands: separators, quotes, redirections, comments, variables and braces to expand.
_SHELL_SYNTAX = re.compile(
    r"""[ \t\n'"`\\&;|<>()]|\A\#|\$[A-Za-z0-9_@*\#?$!({-]"""
    r"""|\{[^{}]*,[^{}]*\}|\{(?:-?\d+\.\.-?\d+|[A-Za-z]\.\.[A-Za-z])(?:\.\.-?\d+)?\}"""
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_ENCODING = "stubs of Python models do not start: UnicodeEncodeError: 'ascii' codec can't encode character"
_STUBS_WITHOUT_SHELL = (25, 8)
_SAFE = "use letters, digits, '.', '-' and '_'"
_RENAME = f"rename the folder (and model_name in ensembles): {_SAFE}"


def _named(name: str) -> Example:
    files: dict[str, str | None] = {f"{name}/config.pbtxt": python_model(), f"{name}/1/model.py": IDENTITY}
    return Example(ensemble(step(name, {"X": "X"}, {"Y": "Y"})), beside=files)


def _is_named_python(model: Model) -> bool:
    """Return whether this is a Python model whose name is that of a folder, and not that of an archive."""
    named = model.root != "" or not model.repository.is_archive
    return named and model.is_python


def _has_odd_name(model: Model) -> bool:
    """Return whether :func:`python_model_name` reports the model."""
    return any(python_model_name.find(model))


@rule(
    "The name of a Python model is ASCII, and has no blanks, quotes or other syntax of a shell",
    source=f"{SOURCE}: the stub decodes file names as ASCII, whatever LANG, LC_ALL and PYTHONUTF8 say",
    bad=_named("scale, then shift"),
    good=_named("scale_then_shift"),
    server=Server.DIES,
)
def python_model_name(model: Model) -> Iterator[Finding]:
    match = _SHELL_SYNTAX.search(model.folder) or _NOT_ASCII.search(model.folder)
    if match and _is_named_python(model):
        message = f"the name of this Python model contains {match.group()!r}"
        effect = f"Triton starts its stub by a shell command that has the name in it: {WAITS}"
        yield Finding(model.place(), message, effect if match.group().isascii() else _ENCODING, _RENAME)


@warning(
    "The name of a Python model has no character that Triton refuses since release 25.08",
    source="python_backend r25.08 stub_launcher.cc: Invalid stub name",
    since="25.08",
    bad=_named("scale[0]"),
    good=_named("scale_0"),
)
def python_model_name_future(model: Model, destination: Destination) -> Iterator[Finding]:
    match = SHELL_CHARACTERS.search(model.folder)
    if match and _is_named_python(model) and not _has_odd_name(model):
        older = ", and for older ones it is a pattern that may match other folders" if match.group() in "*?[" else ""
        message = f"the name of this Python model contains {match.group()!r}"
        effect = f"Triton refuses it{_since(destination)} (Invalid stub name){older}"
        yield Finding(model.place(), message, effect, _RENAME)


@warning(
    "A model that clients call has a name that needs no escapes in a URL",
    source="measured on 2.51.0: the HTTP server does not decode %2B, and tritonclient.http escapes such characters",
    bad=Example(python_model(), folder="scale+shift"),
    good=Example(python_model(), folder="scale-shift"),
    server=Server.UNTESTED,  # here: the tests also load models over HTTP
)
def model_name_in_url(model: Model) -> Iterator[Finding]:
    strange = re.search(r"[^A-Za-z0-9_.~-]", model.folder)
    if not strange or model.repository.form is not Form.FOLDER or model.repository.is_one_model:
        return
    if model.folder in step_names(model.repository):
        return
    if _has_odd_name(model) or (model.is_python and SHELL_CHARACTERS.search(model.folder)):
        return  # the rules above report it
    message = f"the name of this model contains {strange.group()!r}, which clients escape in a URL"
    effect = "only gRPC clients reach it: over HTTP, Triton answers 400, Request for unknown model"
    yield Finding(model.place(), message, effect, f"rename the folder: {_SAFE}")


@rule(
    "The path of a repository with Python models, or the name that they get from an archive or an ensemble, has no "
    "blanks, quotes or other syntax of a shell",
    source=f"{SOURCE}; python_backend r25.08 stub_launcher.cc: Invalid stub name",
    lower=Severity.WARNING,
)
def repository_path_in_shell(repository: Repository, destination: Destination) -> Iterator[Finding]:
    """Judge a folder that Triton reads by its path, with a warning; an archive by its name, which SageMaker gives to
    the only Python model; ensembles/ by the folder's name, with which the build begins those of its steps."""
    path = repository.path.resolve()
    what, text = "the path of this repository", str(path.parent if repository.is_one_model else path)
    has_python = any(model.is_python for model in repository.models)
    if repository.is_archive:
        what, text = "the name of this archive, which SageMaker gives its model,", repository.path.name
        has_python = not destination.single and _serves_python(repository)
    elif repository.builds:
        what, text = "the name of this ensemble, with which those of its steps begin,", path.name
    in_shell = _SHELL_SYNTAX.search(text)
    match = in_shell or (SHELL_CHARACTERS if repository.is_archive else _NOT_ASCII).search(text)
    if match and has_python:
        effect = f"Triton starts the stubs of Python models by a shell command that has it in it: {WAITS}"
        if not in_shell:
            effect = f"Triton refuses the model{_since(destination)}: Invalid stub name"
            effect = effect if match.group().isascii() else _ENCODING
        is_certain = repository.builds or (repository.is_archive and in_shell)
        severity = None if is_certain else Severity.WARNING
        yield Finding(repository.place(), f"{what} contains {match.group()!r}: {text}", effect, _SAFE, severity)


def _serves_python(repository: Repository) -> bool:
    """Return whether the model of an archive is a Python model, which gets the archive's name on SageMaker."""
    return any(model.is_python and not model.is_ensemble for model in served_models(repository))


def _since(destination: Destination) -> str:
    return "" if destination.release >= _STUBS_WITHOUT_SHELL else " since release 25.08"
