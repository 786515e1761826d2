"""The repositories that a path stands for, which may be the root of somebody's git repository."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from triton_ensembles.archive.folder import read_folder
from triton_ensembles.archive.tar import read_archive
from triton_ensembles.archive.tree import Problem, Tree, is_archive
from triton_ensembles.checking.extensions import source_forms
from triton_ensembles.checking.model_files.read import FileReader
from triton_ensembles.checking.repository import Form, Repository
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.errors import shown as shown_path
from triton_ensembles.triton.model_config import CONFIG

MOST_REPOSITORIES = 1000  # in one folder
MOST_MODELS = 5000  # of one repository; checking one takes some milliseconds
_DEEPEST = 6  # folders between the one that is named and a repository
_MOST_FOLDERS = 20_000
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "build", "dist"})


def find_repositories(path: Path) -> Iterator[Repository]:
    """The repositories at ``path``. A file is an archive. A folder is one repository when it, or a folder in it, has a
    config.pbtxt; otherwise those below it are, at any depth, and so is each .tar.gz in it, but no hidden one."""
    if not path.is_dir():
        yield read_repository(path)
        return
    found = list(repository_folders(path, _has_recipe)) or ([path] if is_repository(path) else [])
    folders = [folder for folder in found if not {*found}.intersection(folder.parents)]
    if folders == [path]:
        yield read_repository(path)
        return
    children = sorted(path.glob("[!.]*"))  # the folders of .git have digits for names, as versions have
    folders = folders or [child for child in children if child.is_dir() and is_repository(child)]
    archives = (child for child in children if child.is_file() and is_archive(child.name))
    for number, child in enumerate((*folders, *archives)):
        if number == MOST_REPOSITORIES:
            raise EnsembleError(f"there are more than {number} repositories here", path=path, cure="name some of them")
        yield read_repository(child)


def repository_around(file: Path) -> Path | None:
    """The folder of the repository that a file is in, or beside whose models it lies; None if it is in none. A model
    that lies among other folders that are none is one on its own: nobody's home is read for it."""
    above = [folder for folder in list(file.parents)[: _DEEPEST + 1] if folder.is_dir()]
    for folder in above:
        if _has_recipe(folder):
            return folder
    for folder in above:
        if holds_model(folder):
            beside = folders_in(folder.parent)
            others = (child for child in beside if child.name != folder.name)
            return folder.parent if len(beside) == 1 or any(map(holds_model, others)) else folder
    return next((folder for folder in above[:2] if any(map(holds_model, folders_in(folder)))), None)


def read_repository(path: Path) -> Repository:
    """The repository in the folder, or the archive, at ``path``."""
    if not path.is_dir():
        return Repository(path, shown_path(path), Form.ARCHIVE, _limited(read_archive(path, FileReader())))
    form = Form.SOURCE if _has_recipe(path) else Form.FOLDER
    return Repository(path, shown_path(path), form, _limited(read_folder(path)))


def _limited(tree: Tree) -> Tree:
    """The tree, or none of it when it has too many models: nothing can be concluded from a part of them."""
    count = len(tree.folders())
    if count <= MOST_MODELS or tree.get(CONFIG):
        return tree
    return Tree((), [Problem("repository-too-large", "", f"it has {count} folders, each of which is a model")])


def is_repository(folder: Path) -> bool:
    """Return whether ``folder`` is a model, contains one, or has a recipe."""
    if _has_recipe(folder) or (folder / CONFIG).is_file() or any(folder.glob("[0-9]*/model.*")):
        return True
    with os.scandir(folder) as children:
        return any(is_model(child.path) for child in children if child.is_dir())


def _has_recipe(folder: Path) -> bool:
    return any((folder / form.recipe).is_file() for form in source_forms())


def is_model(folder: str | Path) -> bool:
    """Return whether ``folder`` has a config.pbtxt or a version folder."""
    with os.scandir(folder) as children:
        return any(child.name == CONFIG or (child.name.isdecimal() and child.is_dir()) for child in children)


def repository_folders(path: Path, is_other: Callable[[Path], bool] = lambda _: False) -> Iterator[Path]:
    """The folders at and below ``path`` that are a model, have one, or are another kind of repository, the nearest
    first; none is inside of a model. Hidden folders, those of tools and what links lead to are not searched."""
    waiting, seen = [(path, 0)], 0
    while waiting:
        folder, depth = waiting.pop(0)
        inside = folders_in(folder)
        seen += len(inside)
        if is_other(folder) or holds_model(folder):
            yield folder
            continue
        others = [child for child in inside if not holds_model(child)]
        if len(others) < len(inside):
            yield folder
        if depth < _DEEPEST and seen < _MOST_FOLDERS:
            searched = (child for child in others if child.name not in _SKIPPED and not child.is_symlink())
            waiting += [(child, depth + 1) for child in searched]


def holds_model(folder: Path) -> bool:
    """Return whether the folder is that of a model: with a config.pbtxt, or a version that has a model file."""
    if (folder / CONFIG).is_file():
        return True
    return any(child.name.isdecimal() and any(child.glob("model.*")) for child in folders_in(folder))


def folders_in(path: Path) -> list[Path]:
    """The visible folders in a folder that can be read."""
    try:
        with os.scandir(path) as children:
            return sorted(Path(child.path) for child in children if child.is_dir() and not child.name.startswith("."))
    except OSError:
        return []
