"""Members of an archive for SageMaker, and the name of its file."""

from collections import Counter
from collections.abc import Iterator

from triton_ensembles.archive.tar import unsafe_because
from triton_ensembles.archive.tree import Entry, Kind, join
from triton_ensembles.checking.packages import packages_in
from triton_ensembles.checking.rule import Destination, Finding, Repository, note, rule, warning
from triton_ensembles.checking.sagemaker import is_packed
from triton_ensembles.sagemaker.contract import LONGEST_TARGET_MODEL, TARGET_MODEL

_EXTRACTION = "SageMaker does not unpack it: Failed to extract model data archive"
_SHOWN = 8  # findings of one kind in one archive; the last one gives the number of the others


def _of_kind(
    repository: Repository, destination: Destination, kind: Kind, message: str, effect: str, cure: str
) -> Iterator[Finding]:
    """Find the members of a kind; ``message`` has a place for the name of one, and for the target of a link."""
    if is_packed(repository, destination):
        entries = [entry for entry in repository.tree.members if entry.kind is kind]
        texts = [message.format(name=entry.written[:200], target=entry.target[:200]) for entry in entries]
        yield from _first(repository, entries, texts, effect, cure)


def _first(repository: Repository, entries: list[Entry], texts: list[str], effect: str, cure: str) -> Iterator[Finding]:
    for number, (entry, text) in enumerate(zip(entries[:_SHOWN], texts, strict=False), 1):
        more = f" (and {len(entries) - _SHOWN} more)" if number == _SHOWN < len(entries) else ""
        yield Finding(repository.place(entry.path or entry.written[:200]), text + more, effect, cure)


@rule(
    "An archive has no symbolic links",
    source='AWS re:Post, quoted in mantiumai/aws-sagemaker-gptj-deepspeed-blog #5: "Failed to extract model data '
    'archive"',
)
def sagemaker_symbolic_link(repository: Repository, destination: Destination) -> Iterator[Finding]:
    message = "'{name}' is a symbolic link to '{target}'"
    effect = f"{_EXTRACTION}; SageMaker's front end also skips links when it looks for models"
    cure = "pack what the link points to: tar -h (--dereference)"
    return _of_kind(repository, destination, Kind.SYMLINK, message, effect, cure)


@warning(
    "An archive has no hard links",
    source="AWS names only symbolic links; what its unpacker does with hard links is unknown",
)
def sagemaker_hard_link(repository: Repository, destination: Destination) -> Iterator[Finding]:
    message = "'{name}' is a hard link to '{target}'"
    effect = "whether SageMaker unpacks hard links is not documented; it refuses symbolic ones"
    return _of_kind(
        repository, destination, Kind.HARDLINK, message, effect, "store the file itself: tar --hard-dereference"
    )


@rule(
    "An archive has only files and folders",
    source="AWS's unpacker is not public; unpackers of untrusted input do not create devices",
)
def sagemaker_device(repository: Repository, destination: Destination) -> Iterator[Finding]:
    message = "'{name}' is a device, a pipe or something else that is not a file"
    effect = f"{_EXTRACTION}, or silently drops it"
    return _of_kind(repository, destination, Kind.OTHER, message, effect, "remove it from the archive")


@rule("No name in an archive is absolute or has .. in it", source="GNU tar and tarfile refuse or rewrite such names")
def sagemaker_unsafe_member(repository: Repository) -> Iterator[Finding]:
    if repository.is_archive:
        entries = [entry for entry in repository.tree.members if not entry.path and entry.written.strip("./")]
        texts = [unsafe_because(entry.written) for entry in entries]
        effect = f"{_EXTRACTION}, or puts it elsewhere"
        cure = "pack with relative names: tar -C <repository> -czf <archive> ."
        yield from _first(repository, entries, texts, effect, cure)


@warning("An archive has each file only once", source="tar: the later member overwrites the earlier one")
def sagemaker_repeated_member(repository: Repository) -> Iterator[Finding]:
    if repository.is_archive:
        files = [entry for entry in repository.tree.members if entry.path and entry.kind is not Kind.FOLDER]
        counts = Counter(entry.path for entry in files)
        last = {entry.path: entry for entry in files if counts[entry.path] > 1}
        texts = [f"'{entry.written[:200]}' is in the archive more than once" for entry in last.values()]
        effect = "unpacking keeps the last one, which may not be the intended one"
        cure = "create the archive again instead of appending to it"
        yield from _first(repository, list(last.values()), texts, effect, cure)


@note("An archive has no __pycache__", source="measured on 2.51.0: the stub writes 1/__pycache__ at the first load")
def sagemaker_bytecode(repository: Repository) -> Iterator[Finding]:
    """Look beside model.py: an environment and unpacked wheels bring byte code on purpose."""
    models = repository.models if repository.is_archive else ()
    versions = [join(model.root, name) for model in models for name in model.versions.values()]
    written = [join(version, "__pycache__") for version in versions if not packages_in(repository, version)]
    if folders := sorted(filter(repository.tree.is_folder, written)):
        more = f" (and {len(folders) - 1} more such folders)" if len(folders) > 1 else ""
        message = f"this is bytecode from an earlier run of the model{more}"
        effect = "unless its Python and times match, the stub writes its own, and a later load reloads the step"
        yield Finding(repository.place(folders[0]), message, effect, "exclude it: tar --exclude=__pycache__")


@rule(
    "The name of an archive is a valid TargetModel for InvokeEndpoint",
    source=r"botocore 1.44.5 sagemaker-runtime: TargetModelHeader, 1 to 1024 characters, \A\S[\p{Print}]*\z",
)
def sagemaker_target_model(repository: Repository, destination: Destination) -> Iterator[Finding]:
    name = repository.path.name
    if not repository.is_archive or destination.single or TARGET_MODEL.fullmatch(name):
        return
    why = "it begins with a space" if len(name) <= LONGEST_TARGET_MODEL else "it is too long"
    if strange := next((letter for letter in name if not " " <= letter <= "~"), ""):
        why = f"it has the character {strange!r}"
    effect = "InvokeEndpoint refuses the header X-Amzn-SageMaker-Target-Model: ValidationError"
    cure = "use printable ASCII characters, at most 1024 including the folder in S3, and no space at the start"
    yield Finding(repository.place(), f"no request can name this archive: {why}", effect, cure)
