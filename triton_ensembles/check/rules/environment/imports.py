"""Whether the environment of a step has what its model.py imports. Nothing is run."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from triton_ensembles.check.environments import Environment, environment_of, normal_name, reference
from triton_ensembles.check.examples import with_environment
from triton_ensembles.check.fault import Finding, Place, Severity
from triton_ensembles.check.packages import Packages, packages_of
from triton_ensembles.check.python.source import (
    UTILS,
    Import,
    PythonFile,
    adds_folders,
    all_files,
    is_deeper,
    is_local,
    model_files,
)
from triton_ensembles.check.python.standard_library import standard_library
from triton_ensembles.check.repository import Model, Repository
from triton_ensembles.check.rule import rule
from triton_ensembles.check.rules.environment.wheels import python_of
from triton_ensembles.environment import EnvironmentSpec, read_environment_file
from triton_ensembles.errors import EnsembleError, shown
from triton_ensembles.spelling import nearest
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.releases import image_of

SOURCE = "python_backend r24.10 pb_stub.cc: sys.path is the environment's, then the version folder and the model's"
GOOD = with_environment(imports="import json\n")
_LEFT = "*environment bytes"
_MOST_BYTES = 1 << 17  # of all environment files of a recipe
# What the stub itself provides: python_backend r24.10 pb_stub.cc.
_OF_THE_STUB = frozenset({UTILS, "c_python_backend_utils"})
UNLESS_ELSEWHERE = ", unless a folder that model.py adds to sys.path has it"
# Packages that are installed under another name than they are imported.
PROVIDERS = {
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "google": "protobuf",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


@rule(
    "A packed environment has what model.py imports",
    bad=with_environment(imports="import not_installed\n"),
    words="No module named 'not_installed'",
    lower=Severity.WARNING,
)
def environment_import_missing(model: Model, destination: Destination) -> Iterator[Finding]:
    """Of what a function imports, or may find in a folder that model.py adds to sys.path, this is a warning."""
    packed = environment_of(model)
    beside = None if reference(model) else next(iter(packages_of(model)), None)
    if beside is None and (packed is None or packed.tree.problems or not packed.has_library):
        return
    where = beside or packed
    assert where is not None
    python, _ = python_of(model.repository, destination)
    for file, found in imported(model):
        if not _has(where, found.package, python):
            provider = PROVIDERS.get(found.package, found.package)
            meant = nearest(found.package, where.modules)
            when = "when the function is called" if found.later else "and Triton does not load the model"
            when += UNLESS_ELSEWHERE if found.elsewhere else ""
            yield Finding(
                file.place(found),
                f"neither the wheels in '{where.path}' nor Triton's Python have a package '{found.package}'"
                if beside
                else f"the environment '{where.path}' has no package '{found.package}'",
                f"ModuleNotFoundError: No module named '{found.package}', {when}",
                (f"did you mean '{meant}'? Otherwise " if meant else "")
                + (f"add {provider} to its environment file" if beside else f"add {provider} to it and pack it again"),
                Severity.WARNING if found.later or found.elsewhere else None,
            )


def _has(packed: Environment, package: str, python: str) -> bool:
    if isinstance(packed, Packages):  # modules beside model.py are the model's own for is_local
        return package in standard_library(python) or package == "numpy"
    # Modules compiled into Python have no file: sys, time, math …
    return package in packed.modules or package in sys.builtin_module_names or package in _COMPILED_IN


# Modules that a build of Python may have either as files in lib-dynload or compiled in.
_COMPILED_IN = frozenset(
    name for name in sys.stdlib_module_names
    if name.startswith("_") or name in {"array", "binascii", "cmath", "fcntl", "grp", "math", "mmap", "pyexpat",
    "resource", "select", "syslog", "termios", "unicodedata", "zlib", "audioop", "nis", "ossaudiodev", "spwd",
    "readline", "xxlimited", "xxlimited_35", "xxsubtype"}
)  # fmt: skip


def imported(model: Model) -> Iterator[tuple[PythonFile, Import]]:
    """What comes from outside of the model, each package once per file."""
    for first in model_files(model):
        files = all_files(model, first)
        elsewhere = adds_folders(files)
        for file in files:
            seen: set[tuple[str, bool]] = set()
            for found in file.imports:
                if found.package in _OF_THE_STUB or not found.certain or (found.package, found.later) in seen:
                    continue
                seen.add((found.package, found.later))
                if not is_local(model, first, found.package) and not (elsewhere and is_deeper(model, found.package)):
                    yield file, replace(found, elsewhere=elsewhere)


@rule(
    "The environment file names what the steps' model.py import",
    source="envs/*.yml of the recipe; names of distributions and of packages may differ",
    severity=Severity.NOTE,
)
def environment_import_unnamed(repository: Repository) -> Iterator[Finding]:
    for path, spec, steps in environment_files(repository):
        named = {normal_name(package.name) for package in spec.packages}
        named |= {normal_name(re.split(r"[^A-Za-z0-9._-]", text.strip(), maxsplit=1)[0]) for text in spec.pip_packages}
        for step in steps:
            model = repository.model(step)
            for file, found in imported(model) if model else ():
                provider = PROVIDERS.get(found.package, found.package)
                names = {normal_name(found.package), normal_name(provider)}
                known = names & {*named, *(f"python-{name}" for name in named)}
                if found.package not in standard_library() and found.package != "numpy" and not known:
                    yield Finding(
                        file.place(found),
                        f"{path} does not name '{found.package}'",
                        "another package may install it today; once it does not, the step fails with "
                        f"ModuleNotFoundError: No module named '{found.package}'",
                        f"add {provider} with its version to {path}",
                    )


@rule(
    "The environment file requires the Python of the image's stub",
    source="python_backend README r24.10, Important Notes 1; releases.csv",
    severity=Severity.WARNING,
)
def environment_file_python(repository: Repository, destination: Destination) -> Iterator[Finding]:
    image = image_of(destination)
    for path, spec, steps in packed_files(repository) if image and image.python else ():
        if spec.python and image and spec.python != image.python:
            yield Finding(
                Place(path),
                f"this requires Python {spec.python}, and the stub of Triton {image.release} is for "
                f"Python {image.python}",
                f"{' and '.join(steps[:5])} start in this image only with a triton_python_backend_stub for Python "
                f"{spec.python}, built from release {image.release}, in the folder of each",
                f"write python={image.python}",
            )


def packed_files(repository: Repository, wheels: bool = False) -> Iterator[tuple[str, EnvironmentSpec, list[str]]]:
    """Those of environments that bring a Python and numpy of their own, or with ``wheels`` all.

    Wheels beside model.py use the server's.
    """
    recipe = repository.recipe.recipe if repository.recipe else None
    own = [each.steps for each in recipe.environments.values() if each.kind == "wheels"] if recipe else []
    return (found for found in environment_files(repository) if wheels or tuple(found[2]) not in own)


def environment_files(repository: Repository) -> Iterator[tuple[str, EnvironmentSpec, list[str]]]:
    """The environment files that a recipe names, with the steps that get them; the build judges those with faults.

    Their paths are relative to the project, whose folder ensembles/ holds the repository.
    """
    recipe = repository.recipe.recipe if repository.recipe else None
    project = repository.path.resolve().parent.parent
    for environment in recipe.environments.values() if recipe else ():
        try:
            spec = environment_file(repository, project / environment.file)
        except EnsembleError:
            continue
        yield shown(spec.path), spec, list(environment.steps)


def environment_file(repository: Repository, path: Path) -> EnvironmentSpec:
    """The environment file at ``path``, read once. Raises :class:`EnsembleError`, also when all are too long."""
    cache = repository.cache
    if (key := f"*environment {path}") not in cache:
        left = cache.setdefault(_LEFT, _MOST_BYTES)
        try:
            cache[_LEFT] = left - (path.stat().st_size if path.is_file() else 0)
            if cache[_LEFT] < 0:
                message = f"the environment files of this recipe are longer than {_MOST_BYTES >> 10} KiB together"
                raise EnsembleError(message, path=path, cure="shorten them")
            cache[key] = read_environment_file(path)
        except EnsembleError as error:
            cache[key] = error
    found: EnvironmentSpec | EnsembleError = cache[key]
    if isinstance(found, EnsembleError):
        raise found
    return found
