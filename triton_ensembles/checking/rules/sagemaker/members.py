"""Members of an archive for SageMaker, and the name of its file."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from triton_ensembles.archive.tar import unsafe_because
from triton_ensembles.archive.tree import Entry, Kind, Tree
from triton_ensembles.checking.environments import used_environments
from triton_ensembles.checking.rule import Destination, Finding, Repository, Severity, note, rule, warning
from triton_ensembles.checking.sagemaker import is_packed, served_models
from triton_ensembles.checking.shell_syntax import SHELL_SYNTAX
from triton_ensembles.sagemaker.contract import LONGEST_TARGET_MODEL, SHELL_CHARACTERS, TARGET_MODEL

_EXTRACTION = "SageMaker does not unpack it: Failed to extract model data archive"
_SHOWN = 8  # findings of one kind in one archive; the last one gives the number of the others


def _forbidden(
    id: str,
    title: str,
    source: str,
    kind: Kind,
    message: str,
    effect: str,
    cure: str,
    severity: Severity = Severity.ERROR,
) -> None:

    @rule(title, id=id, source=source, severity=severity)
    def find(repository: Repository, destination: Destination) -> Iterator[Finding]:
        if is_packed(repository, destination):
            entries = [entry for entry in repository.tree.members if entry.kind is kind]
            yield from _each(repository, entries, lambda entry: _described(message, entry), effect, cure)


def _described(message: str, entry: Entry) -> str:
    return message.format(name=entry.written[:200], target=entry.target[:200])


def _each(
    repository: Repository, entries: list[Entry], message: Callable[[Entry], str], effect: str, cure: str
) -> Iterator[Finding]:
    for number, entry in enumerate(entries[:_SHOWN], 1):
        more = f" (and {len(entries) - _SHOWN} more)" if number == _SHOWN < len(entries) else ""
        text = message(entry) + more
        yield Finding(repository.place(entry.path or entry.written[:200]), text, effect, cure)


_forbidden(
    "sagemaker-symbolic-link",
    "An archive has no symbolic links",
    'AWS re:Post, quoted in mantiumai/aws-sagemaker-gptj-deepspeed-blog #5: "Failed to extract model data archive"',
    Kind.SYMLINK,
    "'{name}' is a symbolic link to '{target}'",
    f"{_EXTRACTION}; SageMaker's front end also skips links when it looks for models",
    "pack what the link points to: tar -h (--dereference)",
)
_forbidden(
    "sagemaker-hard-link",
    "An archive has no hard links",
    "AWS names only symbolic links; what its unpacker does with hard links is unknown",
    Kind.HARDLINK,
    "'{name}' is a hard link to '{target}'",
    "whether SageMaker unpacks hard links is not documented; it refuses symbolic ones",
    "store the file itself: tar --hard-dereference",
    Severity.WARNING,
)
_forbidden(
    "sagemaker-device",
    "An archive has only files and folders",
    "AWS's unpacker is not public; unpackers of untrusted input do not create devices",
    Kind.OTHER,
    "'{name}' is a device, a pipe or something else that is not a file",
    f"{_EXTRACTION}, or silently drops it",
    "remove it from the archive",
)


@rule(
    "No name in an archive is absolute or has .. in it",
    source="AWS's unpacker is not public; GNU tar, Python's tarfile and libarchive all refuse or rewrite such names",
)
def sagemaker_unsafe_member(repository: Repository) -> Iterator[Finding]:
    if repository.is_archive:
        entries = [entry for entry in repository.tree.members if not entry.path and entry.written.strip("./")]
        effect = f"{_EXTRACTION}, or puts it elsewhere"
        cure = "pack with relative names: tar -C <repository> -czf <archive> ."
        yield from _each(repository, entries, lambda entry: unsafe_because(entry.written), effect, cure)


@warning("An archive has each file only once", source="tar: the later member overwrites the earlier one")
def sagemaker_repeated_member(repository: Repository) -> Iterator[Finding]:
    if repository.is_archive:
        files = [entry for entry in repository.tree.members if entry.path and entry.kind is not Kind.FOLDER]
        counts = Counter(entry.path for entry in files)
        last = {entry.path: entry for entry in files if counts[entry.path] > 1}
        yield from _each(
            repository,
            list(last.values()),
            lambda entry: _described("'{name}' is in the archive more than once", entry),
            "unpacking keeps the last one, which may not be the intended one",
            "create the archive again instead of appending to it",
        )


@note("An archive has no __pycache__", source="measured on 2.51.0: the stub writes 1/__pycache__ at the first load")
def sagemaker_bytecode(repository: Repository) -> Iterator[Finding]:
    if repository.is_archive:
        # An environment and unpacked wheels bring byte code on purpose.
        environments = {packed.path for packed in used_environments(repository)}
        folders = sorted(
            path
            for path, entry in repository.tree.entries.items()
            if path.rpartition("/")[2] == "__pycache__"
            and entry.is_folder
            and environments.isdisjoint(map(str, PurePosixPath(path).parents))
            and not _is_of_packages(repository.tree, path)
        )
        if folders:
            more = f" (and {len(folders) - 1} more such folders)" if len(folders) > 1 else ""
            message = f"this is bytecode from an earlier run of the model{more}"
            effect = (
                "the stub uses it only if its Python and the time of the source match; otherwise it writes its own, "
                "which changes the model's folder, and a later load of the same step name reloads the step"
            )
            yield Finding(repository.place(folders[0]), message, effect, "exclude it: tar --exclude=__pycache__")


def _is_of_packages(tree: Tree, folder: str) -> bool:
    """Whether the byte code in ``folder`` is that of wheels unpacked into a version folder, and not of its model.py."""
    version = "/".join(folder.split("/")[:2])
    has_wheels = any(name.endswith(".dist-info") for name in tree.children(version))
    return has_wheels and not any(name.startswith("model.") for name in tree.children(folder))


@rule(
    "The name of an archive is a valid TargetModel for InvokeEndpoint",
    source=r"botocore 1.44.5 sagemaker-runtime: TargetModelHeader, 1 to 1024 characters, \A\S[\p{Print}]*\z",
)
def sagemaker_target_model(repository: Repository) -> Iterator[Finding]:
    name = repository.path.name
    if not repository.is_archive or TARGET_MODEL.fullmatch(name):
        return
    strange = next((letter for letter in name if not " " <= letter <= "~"), "")
    why = (
        f"it has the character {strange!r}"
        if strange
        else "it begins with a space"
        if len(name) <= LONGEST_TARGET_MODEL
        else "it is too long"
    )
    effect = "InvokeEndpoint refuses the header X-Amzn-SageMaker-Target-Model: ValidationError"
    cure = "use printable ASCII characters, at most 1024 including the folder in S3, and no space at the start"
    yield Finding(repository.place(), f"no request can name this archive: {why}", effect, cure)


@warning(
    "The name of an archive with a single Python model has no special characters of the shell",
    source="python_backend r25.08 stub_launcher.cc: Invalid stub name",
    since="25.08",
)
def sagemaker_stub_name(repository: Repository, destination: Destination) -> Iterator[Finding]:
    name = repository.path.name
    match = SHELL_CHARACTERS.search(name)
    if not repository.is_archive or not match or SHELL_SYNTAX.search(name):  # sagemaker-stub-name-in-shell
        return
    if any(model.get("1/model.py") and not model.is_ensemble for model in served_models(repository)):
        since = destination.release >= (25, 8)
        message = f"the name of this archive contains {match.group()!r}, and its model is a Python model"
        effect = (
            "SageMaker names the model after the archive, and its stub after the model; Triton refuses it"
            + ("" if since else " since release 25.08")
            + ": Invalid stub name"
        )
        yield Finding(repository.place(), message, effect, "use letters, digits, '.', '-' and '_'")
