"""The two sides of a comparison: archives and folders by their paths, and what git has of them in a revision."""

import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.archive.tree import is_archive
from triton_ensembles.checking.repository_search import find_repositories, is_repository
from triton_ensembles.comparing.comparison import Comparison, compare, one_sided
from triton_ensembles.comparing.content import Content
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.location import ENSEMBLES


@dataclass(frozen=True)
class Side:
    """A path, or a git revision (``path`` is then where its files were written, and ``root`` what that is of)."""

    written: str  # as people named it
    path: Path
    root: Path | None = None


def side_of(written: str, scratch: Path) -> Side:
    """The path or the git revision that ``written`` names; the files of a revision are written into ``scratch``.
    Raises :class:`EnsembleError`: it is neither."""
    if Path(written).exists():
        return Side(written, Path(written))
    try:
        root = Path(_git("rev-parse", "--show-toplevel").strip())
        commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{written}^{{commit}}").strip()
    except (OSError, subprocess.CalledProcessError):
        cure = "name an archive, a folder, or a revision of the git repository that you are in"
        raise EnsembleError(f"there is no file, no folder and no git revision '{written}'", cure=cure) from None
    folder = scratch / f"revision-{len(list(scratch.iterdir()))}"
    command = ["git", "-C", str(root), "archive", "--format=tar", commit]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as git, tarfile.open(fileobj=git.stdout, mode="r|") as tar:
        tar.extractall(folder, filter="tar")
    return Side(written, folder, root)


def comparisons(old: Side, new: Side, names: Sequence[str]) -> list[Comparison]:
    """Compare what two sides have at the paths ``names`` (of ensembles also by name), or as a whole. A revision is
    compared with a path where it has that path, and two revisions where they have the current folder.

    Raises:
        EnsembleError: a path is not in the git repository, or a side has no models there.
    """
    results = []
    for before, after in _places(old, new, names):
        earlier, later = (_repositories(path) for path in (before, after))
        if not earlier and not later:
            raise EnsembleError("there are no models here, on neither side", path=after, cure="name a model repository")
        if len(earlier) == len(later) == 1:
            results.append(_compared(*earlier.values(), *later.values()))
            continue
        for name in sorted(earlier.keys() | later.keys()):
            pair = earlier.get(name), later.get(name)
            results.append(_compared(*pair) if all(pair) else one_sided(name, is_new=name in later))  # type: ignore[arg-type]
    return results


def _compared(old: Content, new: Content) -> Comparison:
    for content in (old, new):
        if content.repository.tree.problems:
            problem = content.repository.tree.problems[0]
            raise EnsembleError(f"this cannot be compared: {problem.message}", path=content.repository.path)
    return compare(old, new)


def _places(old: Side, new: Side, names: Sequence[str]) -> list[tuple[Path, Path]]:
    sides = (old, new)
    if not names and not any(side.root for side in sides):
        return [(old.path, new.path)]
    whole = next((side.path for side in sides if not side.root), Path())
    pairs = []
    for name in names or ("",):
        paths = []
        for side in sides:
            base = (whole if side.root else side.path).resolve()
            root = side.root.resolve() if side.root else base
            if side.root and not base.is_relative_to(root):
                raise EnsembleError("this is not in the git repository of the revision", path=base)
            here = side.path / base.relative_to(root) if side.root else base
            candidates = [here / name, here / ENSEMBLES / name, side.path / ENSEMBLES / name]
            paths.append(next((path for path in candidates if path.exists()), here / name))
        pairs.append((paths[0], paths[1]))
    return pairs


def _repositories(path: Path) -> dict[str, Content]:
    """The repositories at ``path`` or below it, by their names; of a project, those in ensembles/."""
    if path.is_dir() and not is_repository(path) and (path / ENSEMBLES).is_dir():
        path /= ENSEMBLES
    if not path.exists():
        return {}
    if path.is_file() and not is_archive(path.name):
        raise EnsembleError("this is neither a folder nor a .tar.gz", path=path, cure="name an archive or a folder")
    found = {}
    for repository in find_repositories(path):
        place = Path(path.resolve().name) if repository.path == path else repository.path.relative_to(path)
        name = place.as_posix().removesuffix(".tar.gz").removesuffix(".tgz")
        found[name] = Content(name, repository)
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout
