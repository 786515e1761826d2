"""What may lie in an archive for SageMaker, and what its file may be called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from triton_ensembles.archive.tree import Entry, Kind
from triton_ensembles.check.fault import Finding, Severity
from triton_ensembles.check.repository import Repository
from triton_ensembles.check.rule import Finder, Rule, Scope, Server, rule
from triton_ensembles.check.rules.sagemaker import is_archive, is_packed, picked
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.sagemaker_contract import LONGEST_TARGET_MODEL, SHELL_CHARACTERS, TARGET_MODEL

_EXTRACTION = "SageMaker does not unpack it: Failed to extract model data archive"
_SHOWN = 8  # findings of one kind in one archive; the last one says how many more there are


def _of_kind(kind: Kind, message: str, effect: str, cure: str) -> Finder:
    def find(repository: Repository, target: Destination) -> Iterator[Finding]:
        if is_packed(repository, target):
            entries = [entry for entry in repository.tree.members if entry.kind is kind]
            yield from _each(repository, entries, message, effect, cure)

    return find


def _each(repository: Repository, entries: list[Entry], message: str, effect: str, cure: str) -> Iterator[Finding]:
    for number, entry in enumerate(entries[:_SHOWN], 1):
        more = f" (and {len(entries) - _SHOWN} more)" if number == _SHOWN < len(entries) else ""
        text = message.format(name=entry.written[:200], target=entry.target[:200]) + more
        yield Finding(repository.place(entry.path or entry.written[:200]), text, effect, cure)


def _member_rule(id: str, title: str, source: str, severity: Severity, find: Finder) -> Rule:
    return rule(
        id, title, source=source, bad=None, good=None, scope=Scope.REPOSITORY, severity=severity, server=Server.UNTESTED
    )(find)


symbolic_link = _member_rule(
    "sagemaker-symbolic-link",
    "An archive has no symbolic links",
    'AWS re:Post, quoted in mantiumai/aws-sagemaker-gptj-deepspeed-blog #5: "Failed to extract model data archive"',
    Severity.ERROR,
    _of_kind(
        Kind.SYMLINK,
        "'{name}' is a symbolic link to '{target}'",
        f"{_EXTRACTION}; SageMaker's front end also skips links when it looks for models",
        "pack what the link points to: tar -h (--dereference)",
    ),
)
hard_link = _member_rule(
    "sagemaker-hard-link",
    "An archive has no hard links",
    "AWS names symbolic links only; what its unpacker does with hard links is unknown",
    Severity.WARNING,
    _of_kind(
        Kind.HARDLINK,
        "'{name}' is a hard link to '{target}'",
        "whether SageMaker unpacks hard links is not documented; it refuses symbolic ones",
        "store the file itself: tar --hard-dereference",
    ),
)
device = _member_rule(
    "sagemaker-device",
    "An archive has files and folders, and nothing else",
    "AWS's unpacker is not public; no unpacker that distrusts its input makes devices",
    Severity.ERROR,
    _of_kind(
        Kind.OTHER,
        "'{name}' is a device, a pipe or something else that is no file",
        f"{_EXTRACTION}, or drops it in silence",
        "leave it out of the archive",
    ),
)


@rule(
    "sagemaker-unsafe-member",
    "No name in an archive is absolute or has .. in it",
    source="AWS's unpacker is not public; GNU tar, Python's tarfile and libarchive all refuse or rewrite such names",
    bad=None,
    good=None,
    scope=Scope.REPOSITORY,
    server=Server.UNTESTED,
)
def unsafe_member(repository: Repository, target: Destination) -> Iterator[Finding]:
    if is_archive(repository):
        entries = [entry for entry in repository.tree.members if not entry.path and entry.written.strip("./")]
        yield from _each(
            repository,
            entries,
            "'{name}' would be unpacked outside of the model's folder",
            f"{_EXTRACTION}, or puts it elsewhere",
            "pack with relative names: tar -C <repository> -czf <archive> .",
        )


@rule(
    "sagemaker-repeated-member",
    "No file is in an archive twice",
    source="tar: the later member overwrites the earlier one",
    bad=None,
    good=None,
    scope=Scope.REPOSITORY,
    severity=Severity.WARNING,
    server=Server.UNTESTED,
)
def repeated_member(repository: Repository, target: Destination) -> Iterator[Finding]:
    if is_archive(repository):
        files = [entry for entry in repository.tree.members if entry.path and entry.kind is not Kind.FOLDER]
        counts = Counter(entry.path for entry in files)
        last = {entry.path: entry for entry in files if counts[entry.path] > 1}
        yield from _each(
            repository,
            list(last.values()),
            "'{name}' is in the archive more than once",
            "the last one wins when it is unpacked, which may not be the one that was meant",
            "pack the archive anew instead of appending to it",
        )


@rule(
    "sagemaker-bytecode",
    "An archive has no __pycache__",
    source="measured on 2.51.0: the stub writes 1/__pycache__ at the first load",
    bad=None,
    good=None,
    scope=Scope.REPOSITORY,
    severity=Severity.NOTE,
    server=Server.UNTESTED,
)
def bytecode(repository: Repository, target: Destination) -> Iterator[Finding]:
    if is_archive(repository):
        folders = sorted(
            path
            for path, entry in repository.tree.entries.items()
            if path.rpartition("/")[2] == "__pycache__" and entry.is_folder
        )
        if folders:
            more = f" (and {len(folders) - 1} more such folders)" if len(folders) > 1 else ""
            yield Finding(
                repository.place(folders[0]),
                f"this is bytecode of the Python that tried the model out{more}",
                "the stub uses it only when its Python and the time of the source agree, and writes its own otherwise, "
                "which changes the model's folder: a later load of the same step name then loads the step again",
                "leave it out: tar --exclude=__pycache__",
            )


@rule(
    "sagemaker-target-model",
    "The name of an archive is a TargetModel that InvokeEndpoint takes",
    source=r"botocore 1.44.5 sagemaker-runtime: TargetModelHeader, 1 to 1024 characters, \A\S[\p{Print}]*\z",
    bad=None,
    good=None,
    scope=Scope.REPOSITORY,
    server=Server.UNTESTED,
)
def target_model(repository: Repository, target: Destination) -> Iterator[Finding]:
    name = repository.path.name
    if not is_archive(repository) or TARGET_MODEL.fullmatch(name):
        return
    strange = next((letter for letter in name if not " " <= letter <= "~"), "")
    why = (
        f"it has the letter {strange!r}"
        if strange
        else "it begins with a blank"
        if len(name) <= LONGEST_TARGET_MODEL
        else "it is too long"
    )
    yield Finding(
        repository.place(),
        f"no request can name this archive: {why}",
        "InvokeEndpoint refuses the header X-Amzn-SageMaker-Destination-Model: ValidationError",
        "use printable ASCII letters, at most 1024 of them together with the folder in S3, and no blank at the start",
    )


@rule(
    "sagemaker-stub-name",
    "The name of an archive with a single Python model has no letters of the shell",
    source="python_backend r25.08 stub_launcher.cc: Invalid stub name",
    bad=None,
    good=None,
    scope=Scope.REPOSITORY,
    severity=Severity.WARNING,
    server=Server.UNTESTED,
    since="25.08",
)
def stub_name(repository: Repository, target: Destination) -> Iterator[Finding]:
    name = repository.path.name
    match = SHELL_CHARACTERS.search(name)
    if not is_archive(repository) or not match:
        return
    if any(model.get("1/model.py") and not model.is_ensemble for model in picked(repository)):
        since = target.release >= (25, 8)
        yield Finding(
            repository.place(),
            f"the name of this archive has {match.group()!r} in it, and its model is a Python model",
            "SageMaker gives the model the name of the archive, which becomes a part of its stub's name; Triton "
            + ("refuses that" if since else "refuses that from release 25.08 on")
            + ": Invalid stub name",
            "use letters, digits, '.', '-' and '_'",
        )


RULES = (symbolic_link, hard_link, device, unsafe_member, repeated_member, bytecode, target_model, stub_name)
