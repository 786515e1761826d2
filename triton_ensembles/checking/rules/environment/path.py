"""EXECUTION_ENV_PATH: where a step's environment is, and in which form: a folder, or a .tar.gz that Triton extracts
(python_backend r24.10 python_be.cc and pb_env.cc)."""

from collections.abc import Iterator

from triton_ensembles.archive.tree import Tree, is_archive
from triton_ensembles.checking.environments import (
    MODEL_FOLDER,
    PARAMETER,
    Location,
    environments,
    reference,
    used_environments,
)
from triton_ensembles.checking.examples import IDENTITY, parameter, python_model, with_environment
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.loaded_files import file_of
from triton_ensembles.checking.rule import Destination, Example, Finding, Model, Repository, Server, rule, warning
from triton_ensembles.checking.sagemaker import is_packed
from triton_ensembles.ground.spelling import nearest

SOURCE = "python_backend r24.10 src/pb_env.cc ExtractIfNotExtracted"
_PLACE = ("parameters", PARAMETER, "value", "string_value")
_NOT_FOUND = "Failed to get the canonical path for …"
_TAKES_FOLDERS = (23, 7)
_WRONG_SUFFIXES = (".zip", ".bz2", ".xz", ".zst", ".7z", ".rar", ".conda", ".tbz2", ".txz")
GOOD = python_model()


def _parameter(path: str) -> str:
    return python_model(parameter(PARAMETER, path))


@rule(f"{PARAMETER} names a file or folder", bad=_parameter(f"{MODEL_FOLDER}/missing_env.tar.gz"), words=_NOT_FOUND)
def environment_missing(model: Model) -> Iterator[Finding]:
    named = reference(model)
    if not named or named.location not in (Location.MODEL, Location.REPOSITORY):
        return
    tree = model.repository.tree
    if named.path and tree.get(named.path):
        return
    folder = named.path.rpartition("/")[0]
    there = model.repository.once("what may be an environment", lambda: _candidates(tree))
    meant = nearest(named.path, [path for path in there if path.rpartition("/")[0] == folder]) or (
        there[0] if len(there) == 1 else None
    )
    cure = f'did you mean "{_written(model, meant)}"?' if meant else "pack it there, or correct the path"
    yield Finding(model.at(*_PLACE), f"there is no file or folder '{named.path or '.'}' in the repository", cure=cure)


_ELSEWHERE = {
    Location.OUTSIDE: ("the path points outside the repository", "; an instance has only what is in the archive"),
    Location.RELATIVE: ("'{}' is not a path in the model's folder", ""),
    Location.ABSOLUTE: ("'{}' is an absolute path", ", unless the image has this file"),
}


@rule(
    f"{PARAMETER} begins with {MODEL_FOLDER}, and does not point outside the repository",
    source=f"{SOURCE}; python_be.cc: nothing else is replaced; server #8290",
    bad=_parameter(f"{MODEL_FOLDER}/../../missing_env.tar.gz"),
    words=_NOT_FOUND,
    lower=Severity.WARNING,
)
def environment_outside(model: Model) -> Iterator[Finding]:
    """Yield a warning for an absolute path, as an image may have the file."""
    named = reference(model)
    if named and named.location in _ELSEWHERE:
        message, more = _ELSEWHERE[named.location]
        name = named.written.rpartition("/")[2] or "env.tar.gz"
        dollars = " (with two $ signs)" if "TRITON_MODEL" in named.written else ""
        cure = f'put it into the model\'s folder, and write string_value: "{MODEL_FOLDER}/{name}"{dollars}'
        severity = Severity.WARNING if named.location is Location.ABSOLUTE else None
        effect = f"Triton refuses it: {_NOT_FOUND}{more}"
        yield Finding(model.at(*_PLACE), message.format(named.written[:100]), effect, cure, severity)


@rule(
    "A packed environment is a .tar.gz",
    source="python_backend r24.10 pb_env.cc ExtractTarFile: archive_read_support_filter_gzip and _format_tar",
    bad=Example(_parameter(f"{MODEL_FOLDER}/env.zip"), {"1/model.py": IDENTITY, "env.zip": "PK"}),
    words="archive_read_open_filename() failed",
)
def environment_format(model: Model) -> Iterator[Finding]:
    named = reference(model)
    if not named or not named.path:
        return
    tree = model.repository.tree
    entry = tree.get(named.path)
    if entry is None or entry.is_folder:
        return
    if named.path.endswith(_WRONG_SUFFIXES):
        cure = "pack it as a .tar.gz: conda-pack -o env.tar.gz, or tar -C <environment> -czf env.tar.gz ."
        yield Finding(model.at(*_PLACE), f"'{named.path}' is not a .tar.gz", cure=cure)
    file = file_of(model, named.path.removeprefix(f"{model.root}/"))
    if file and file.is_pointer:
        return  # file-lfs-pointer
    nested = tree.nested(named.path)
    for problem in nested.problems if nested else ():
        message = f"this environment cannot be read: {problem.message}"
        effect = "Triton refuses it: archive_read_open_filename() or archive_read_data_block() failed"
        cure = "pack it again: conda-pack -o env.tar.gz, or tar -C <environment> -czf env.tar.gz ."
        yield Finding(model.repository.place(named.path), message, effect, cure)


@rule(
    "A packed environment has bin/activate at its root",
    source="python_backend r24.10 stub_launcher.cc GetPythonEnvironment; 25.08 and later do not run it",
    bad=Example(_parameter(f"{MODEL_FOLDER}/env"), {"1/model.py": IDENTITY, "env/lib/python3.10/os.py": ""}),
    words="Path …/bin/activate does not exist. The Python environment should contain an 'activate' script",
)
def environment_no_activate(repository: Repository) -> Iterator[Finding]:
    for packed in used_environments(repository):
        if packed.tree.problems or packed.tree.get("bin/activate"):
            continue
        message = "the environment has no bin/activate"
        cure = "pack it with conda-pack, which adds the script (tar alone does not)"
        if outer := next((name for name in packed.tree.folders() if packed.tree.get(f"{name}/bin/activate")), ""):
            message = f"the environment is in a folder '{outer}' within the archive, not at its root"
            cure = f"pack what is in the folder: tar -C {outer} -czf env.tar.gz ."
        yield Finding(repository.place(packed.path), message, cure=cure)


@warning("An archive has each environment only once", source=f"{SOURCE}: once for each path", server=Server.ACCEPTS)
def environment_stored_twice(repository: Repository) -> Iterator[Finding]:
    if repository.builds:
        return
    same: dict[int, list[str]] = {}
    sizes: dict[int, int] = {}
    for packed in environments(repository):
        if packed.size and len(packed.tree.members) > 1:
            same.setdefault(packed.fingerprint, []).append(packed.path)
            sizes[packed.fingerprint] = packed.unpacked
    for key, paths in same.items():
        if len(paths) > 1:
            more = f" (and {len(paths) - 2} more)" if len(paths) > 2 else ""
            size = f"{sizes[key] * len(paths) / 1e6:,.0f} MB in /tmp instead of {sizes[key] / 1e6:,.0f}"
            effect = f"Triton extracts each of them, while the first request waits: {size}"
            cure = f'name one in every step: "{MODEL_FOLDER}/../{paths[0].rpartition("/")[2]}" for one at the root'
            message = f"this is the same environment as '{paths[0]}'{more}"
            yield Finding(repository.place(paths[1]), message, effect, cure)


def _candidates(tree: Tree) -> list[str]:
    archives = [path for path, entry in tree.entries.items() if is_archive(path) and not entry.is_folder]
    return archives + [path.removesuffix("/bin/activate") for path in tree.entries if path.endswith("/bin/activate")]


def _written(model: Model, path: str) -> str:
    inside = f"{model.root}/"
    return f"{MODEL_FOLDER}/{path.removeprefix(inside)}" if path.startswith(inside) else f"{MODEL_FOLDER}/../{path}"


@warning(
    "An archive for an endpoint has its environment as a folder, not as a .tar.gz",
    source="python_backend r24.10 pb_env.cc: nothing is removed at unload (#8840); after a failed extraction the next "
    "ones also fail; measured on 2.51.0",
    server=Server.ACCEPTS,
)
def environment_tar(repository: Repository, destination: Destination) -> Iterator[Finding]:
    if not is_packed(repository, destination) or destination.release < _TAKES_FOLDERS:
        return
    for packed in used_environments(repository):
        if packed.size and not packed.tree.problems:
            kept = f"each load keeps {packed.unpacked:,} bytes in /tmp, even after the model is unloaded"
            effect = f"{kept}; and once one cannot be extracted, none is until the container restarts"
            cure = f'store it unpacked, and name the folder in {PARAMETER} (kind = "folder" in the recipe, the default)'
            yield Finding(repository.place(packed.path), "this environment is a .tar.gz", effect, cure)


@rule(
    f"{PARAMETER} names a folder only for Triton 23.07 or later",
    source="python_backend #266, first in r23.07 pb_env.cc",
    bad=with_environment("3.8"),
    destination=Destination(image="23.02"),
    server=Server.UNTESTED,
)
def environment_folder(model: Model, destination: Destination) -> Iterator[Finding]:
    named = reference(model)
    if destination.release >= _TAKES_FOLDERS or not named or model.repository.builds:
        return
    entry = model.repository.tree.get(named.path)
    if entry and entry.is_folder:
        message = f"'{named.path}' is a folder, and Triton {destination.release_name} takes only a .tar.gz"
        effect = "Triton refuses it: archive_read_open_filename() failed"
        cure = 'use 23.07 or later, or wheels beside model.py (kind = "wheels" in the recipe), or conda-pack\'s .tar.gz'
        yield Finding(model.at(*_PLACE), message, effect, cure)
