"""Packs a model repository without a recipe as it is; checked, and loaded once before it is an archive."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.write import write_archive
from triton_ensembles.building.packed.proof import prove
from triton_ensembles.building.packed.staging import place
from triton_ensembles.building.planned.refusal import refuse_faults
from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import file_digest
from triton_ensembles.ground.progress import Progress
from triton_ensembles.project.examples.place import FOLDER as EXAMPLES
from triton_ensembles.serving.served import Served, here

_LEFT_OUT = frozenset({".git", ".gitignore", ".gitattributes", "__pycache__", ".ipynb_checkpoints", ".DS_Store"})


@dataclass(frozen=True)
class Packed:
    """An archive of a repository. ``changed``: whether it differs from the one that was there before."""

    archive: Path
    sha256: str
    changed: bool


def pack(
    source: Served, archive: Path, progress: Progress, *, proof_log: Path | None = None, ask: bool = False
) -> Packed:
    """Write ``archive`` with everything in the repository but files of tools (.git, __pycache__) and example requests.

    Links become what they lead to, because SageMaker refuses archives with links. ``proof_log``: load the archive once,
    with the server's log in this file, and with ``ask`` send each model a request; None: do not. Raises
    :class:`EnsembleError`: there is more than an archive may hold, ``check`` finds errors in it, or it does not load or
    answer. A previous one is unchanged."""
    content = list(_content(source))
    before = file_digest(archive) if archive.is_file() else ""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=f".{archive.name}.") as scratch:
        staged, new = Path(scratch) / "staged", Path(scratch) / archive.name
        staged.mkdir()
        for inner, path in content:
            if path.is_dir():
                (staged / inner).mkdir(parents=True, exist_ok=True)
            else:
                place(path, staged / inner)
        write_archive(staged, new, progress=progress)
        place_shown = archive if proof_log else Path(archive.name)  # the archive of an endpoint lasts no longer than it
        message = f"the archive of {shown(source.path)} has faults, so it was not written"
        refuse_faults(new, replace(here(source.server), single=source.single), message, place_shown)
        if proof_log:
            written = {model: source.repository / model for model in source.models} if ask else None
            completes = not source.is_complete
            prove(new, archive, source.python, proof_log, progress, written, source.single, completes=completes)
        new.replace(archive)
    sha256 = file_digest(archive)
    return Packed(archive, sha256, changed=sha256 != before)


def _content(source: Served) -> Iterator[tuple[str, Path]]:
    """Files and folders to pack, each by its path in the archive; the folder of a folder comes before it."""
    examples = {f"{top}/{EXAMPLES}" for top in source.tops}
    budget = Budget()
    waiting: list[tuple[str, str, tuple[str, ...]]] = [("", os.path.realpath(source.repository), ())]
    while waiting:
        folder, real, above = waiting.pop()
        if real in above:
            raise EnsembleError("this link leads to a folder that it is in", path=source.repository / folder)
        with os.scandir(real) as items:
            children = sorted(items, key=lambda item: item.name)
        for child in children:
            inner = f"{folder}/{child.name}" if folder else child.name
            if child.name in _LEFT_OUT or child.name.endswith(".pyc") or inner in examples:
                continue
            path, shown_path = Path(child.path), source.repository / inner
            if not path.exists():
                cure = "remove it, or put the file there"
                raise EnsembleError("this link leads to nothing", path=shown_path, cure=cure)
            if not (path.is_dir() or path.is_file()):  # copying one may never end
                raise EnsembleError("this is a device or a pipe, not a file", path=shown_path, cure="remove it")
            try:
                budget.take_entry(inner)  # before any is copied: links can make a few folders into any number
            except ArchiveError as error:
                message = f"this cannot be an archive: {error.message}"
                raise EnsembleError(message, path=source.path, cure="remove what the models do not need") from None
            yield inner, path
            if path.is_dir():
                below = os.path.realpath(path) if child.is_symlink() else child.path
                waiting.append((inner, below, (*above, real)))
