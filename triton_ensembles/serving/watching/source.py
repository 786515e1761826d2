"""The files that people edit, and how the served repository follows them: a folder is served itself, and an ensemble of
the project is staged again."""

import filecmp
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from triton_ensembles.building.planned.plan import read_inputs
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import files_in
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.serving.served import Served


@dataclass(frozen=True)
class WatchedSource:
    """A repository that is served, and what it is made of."""

    repository: Path
    written: Callable[[], Sequence[Path]]  # the files and folders that people edit
    refresh: Callable[[], None] = lambda: None  # brings the repository up to date with them
    shown: Callable[[str], str] = str  # a path in the repository as people know it


@contextmanager
def watched_source(served_source: Served, stage: Callable[[Path], None]) -> Iterator[tuple[Served, WatchedSource]]:
    """``served_source`` as it is to be served, and what is watched of it.

    A folder is what the server has, so that there is nothing to refresh, or links to its files and to packages, which
    are renewed. An ensemble of a project is staged again, into a repository of its own: the one in build/ is what was
    packed.

    Args:
        stage: stages the ensemble, as it is written now, into a new folder.

    Raises:
        EnsembleError: it is an archive.
    """
    if (served_source.path / RECIPE).is_file():
        beside = served_source.repository  # on its file system, where files can be moved
        with tempfile.TemporaryDirectory(dir=beside.parent, prefix=f".{beside.name}.watched-") as own:
            served_source = replace(served_source, repository=Path(own) / "models")
            served_source.repository.mkdir()
            source = _staged(served_source, Path(own), stage)
            source.refresh()
            yield served_source, source
    elif served_source.refresh:
        yield served_source, _with_packages(served_source, served_source.refresh)
    elif served_source.path.is_dir():
        yield served_source, WatchedSource(served_source.repository, lambda: [served_source.repository])
    else:
        message = "an archive is not watched: nobody edits what is in it"
        raise EnsembleError(message, path=served_source.path, cure="serve the folder that it was packed from")


def _staged(source: Served, scratch: Path, stage: Callable[[Path], None]) -> WatchedSource:
    def written() -> list[Path]:
        return [source.path, *read_inputs(source.path, source.path.resolve().parents[1])]

    def refresh() -> None:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            stage(Path(folder) / "staged")
            follow(Path(folder) / "staged", source.repository)

    return WatchedSource(source.repository, written, refresh, lambda path: path.removeprefix(f"{source.name}."))


def _with_packages(source: Served, relink: Callable[[], set[str]]) -> WatchedSource:
    packages = set(source.packages)  # also those of earlier declarations, whose files are gone

    def shown_path(path: str) -> str:
        return "its packages" if "/".join(path.split("/")[:3]) in packages else path

    return WatchedSource(source.repository, source.written_files, lambda: packages.update(relink()), shown_path)


def follow(source: Path, repository: Path) -> None:
    """Make ``repository`` equal to ``source``, whose files move there. What is equal is left alone, time stamp and all,
    and so is the bytecode that the server has written."""
    files = files_in(source)
    for inner, path in files_in(repository).items():
        if inner not in files and "__pycache__" not in inner.split("/"):
            path.unlink()
    for path in sorted(repository.rglob("*"), reverse=True):
        gone = path.is_dir() and not (source / path.relative_to(repository)).is_dir()
        if gone and path.name != "__pycache__":
            shutil.rmtree(path)
    for path in source.rglob("*"):
        if path.is_dir():
            (repository / path.relative_to(source)).mkdir(parents=True, exist_ok=True)
    for inner, path in files.items():
        served = repository / inner
        if not _equal(path, served):
            path.replace(served)


def _equal(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second) or filecmp.cmp(first, second, shallow=False)
    except FileNotFoundError:
        return False
