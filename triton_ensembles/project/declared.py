"""The packages of a Python step, where people declare them. The first of these that there is counts:

requirements.txt     of the version folders and the folder of the model
requirements.txt     of the repository
requirements.txt     beside the repository
environment.yml      in the repository or beside it
Dockerfile           on an image of Triton, beside it or above: what it installs with pip
pyproject.toml       beside it: the dependencies of its project
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError, shown
from triton_ensembles.ground.files import parse_toml, read_text
from triton_ensembles.project.recipe.environment_file import read_environment_file
from triton_ensembles.triton.dockerfile import dockerfile_of
from triton_ensembles.triton.requirements import LONGEST, Declared, Requirements

_FILE = "requirements.txt"
_ENVIRONMENTS = ("environment.yml", "environment.yaml")
_PYPROJECT = "pyproject.toml"


@dataclass(frozen=True)
class Asked:
    """The part of a command line that is about Python steps.

    Attributes:
        requirements: the files of their packages, instead of those that are found.
        packages: those that they need besides.
        image: the release of Triton whose Python they run under; "" for that of the server.
    """

    requirements: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    image: str = ""

    def of(self, found: Declared | None) -> Declared | None:
        """Return the declaration of a step for which ``found`` was declared."""
        if not (self.requirements or self.packages):
            return found
        return of_files(self.requirements, self.packages, None if self.requirements else found)


NOTHING = Asked()


def packages_for(model: Path) -> Declared | None:
    """Find the declaration of the Python step in the folder ``model``; None for nothing."""
    found = _packages_at(Path(os.path.abspath(model)))  # noqa: PTH100 - which follows no links
    return found or (_packages_at(model.resolve()) if model.is_symlink() else None)


def _packages_at(model: Path) -> Declared | None:
    repository, beside = model.parent, model.parent.parent
    for files in ([*sorted(model.glob(f"[0-9]*/{_FILE}")), model / _FILE], [repository / _FILE], [beside / _FILE]):
        if found := of_files(files):
            return found
    for folder in (repository, beside):
        if found := _of_environment(folder):
            return found
    if (dockerfile := dockerfile_of(model)) and dockerfile.asked.names:
        asked = replace(dockerfile.asked.copy(), files=[Path(dockerfile.path), *dockerfile.asked.files])
        return Declared.of(f"{dockerfile.path}:{dockerfile.line}", asked)
    return _of_project(beside)


def of_files(files: Iterable[Path], more: Sequence[str] = (), found: Declared | None = None) -> Declared | None:
    """Join what was ``found``, requirements files, and ``more`` requirements; None if there are none."""
    asked = found.asked.copy() if found else Requirements()
    read = [file for file in files if file.is_file() and file.stat().st_size <= LONGEST]
    for file in read:
        asked.add_file(file)
    for requirement in more:
        asked.add(requirement, Path())
    place = " and ".join([*([found.place] if found else []), *map(shown, read), *(["--with"] if more else [])])
    return Declared.of(place, asked) if place else None


def _of_environment(folder: Path) -> Declared | None:
    file = next((folder / name for name in _ENVIRONMENTS if (folder / name).is_file()), None)
    return _of_lines(file, _pip_section) if file else None


def _pip_section(file: Path) -> list[str]:
    spec = read_environment_file(file)
    return [*spec.pip_options, *spec.pip_requirements]


def _of_project(folder: Path) -> Declared | None:
    file = folder / _PYPROJECT
    found = _of_lines(file, _dependencies) if file.is_file() else None
    return found if found and (found.packages or found.unread) else None


def _dependencies(file: Path) -> list[str]:
    project = parse_toml(read_text(file, LONGEST), file).get("project")
    dependencies = project.get("dependencies") if isinstance(project, dict) else None
    return [line for line in dependencies if isinstance(line, str)] if isinstance(dependencies, list) else []


def _of_lines(file: Path, lines: Callable[[Path], Iterable[str]]) -> Declared:
    """Declare what ``lines`` reads in ``file``; a file that cannot be read may declare anything."""
    asked = Requirements(files=[file])
    try:
        for line in lines(file):
            asked.add_words([line], file.parent)
    except EnsembleError as error:
        asked.unread = error.message
    return Declared.of(shown(file), asked)
