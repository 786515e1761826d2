"""A model repository whose Python steps get packages: links to its files, and beside model.py to the packages.

    models/                     of links, so that what people edit is what is served
        scale/config.pbtxt ->   their own file
        scale/1/model.py ->     their own file
        scale/1/pandas ->       the packages in the store

A file or folder of the user's own comes before a package of its name.
"""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_ensembles.building.made.declared_packages import make_declared, modules_in
from triton_ensembles.building.made.failed_imports import refuse_failed, written
from triton_ensembles.building.made.store import Entry, Store
from triton_ensembles.checking.imported_packages import PROVIDERS
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.checking.rules.model_py.step_imports import missing_imports, steps_with_packages
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.ground.progress import Progress
from triton_ensembles.ground.spelling import most_of
from triton_ensembles.server.bare_python import bare_python
from triton_ensembles.server.home import Installation
from triton_ensembles.server.stubs import require_interpreter
from triton_ensembles.triton.destination import Destination
from triton_ensembles.triton.requirements import Declared
from triton_ensembles.triton.targets import Target


def put_beside(
    repository: Repository,
    folder: Path,
    destination: Destination,
    target: Target,
    home: Installation,
    progress: Progress,
) -> set[str]:
    """Make ``folder`` a repository of links to what ``repository`` has, and to the packages of its steps; links that
    are right already stay. Returns the paths of the packages. Raises :class:`EnsembleError`: packages cannot be
    installed, or a step not import one."""
    links = {path.name: path for path in repository.path.resolve().iterdir()}
    packed: set[str] = set()
    store = Store(user_folder() / "build" / "store")
    python = require_interpreter(target.python or home.python)
    program = bare_python(python, home.folder.parent, progress) / "bin" / "python3"
    for declared, steps in steps_with_packages(repository, destination).items():
        made = make_declared(declared, target, home, store, progress)
        packages: Mapping[str, str] = made.facts["packages"]
        asked = [f"{name} {version}" for name, version in packages.items() if name in declared.packages]
        more = f" and {len(packages) - len(asked)} that they require" if len(packages) > len(asked) else ""
        models = most_of([step.folder for step in steps], 8)
        if asked:  # all may be numpy, or for other Pythons
            progress(f"{declared.place}: {most_of(asked, 8)}{more} ({made.facts['size'] / 1e6:.0f} MB) beside {models}")
        for step in steps:
            refuse_failed(step, made, program, declared.place)
            _refuse_lacking(step, destination, declared, made)
            del links[step.folder]
            linked = dict(_links_of(step, made.path))
            packed |= {inner for inner, path in linked.items() if path.parent == made.path}
            links |= linked
    for model in without_version(repository):
        root = links.pop(model.folder)
        links |= {f"{model.folder}/{path.name}": path for path in root.iterdir()}
    _lay(folder, links)
    for model in without_version(repository):
        (folder / model.folder / "1").mkdir(exist_ok=True)
    return packed


def without_version(repository: Repository) -> list[Model]:
    """The ensembles that lack the empty version folder which Triton demands, and which git does not keep."""
    ensembles = (model for model in repository.models_read if model.is_ensemble and model.has_config)
    return [each for each in ensembles if not any(name.isdecimal() for name in each.tree.folders(each.root))]


def _links_of(step: Model, packages: Path) -> Iterator[tuple[str, Path]]:
    """The links in the folder of one step, whose versions that are served get the packages."""
    served = {step.versions[number] for number in step.served_versions}
    root = step.repository.path.resolve() / step.root
    for path in root.iterdir():
        if path.name not in served:
            yield f"{step.folder}/{path.name}", path
            continue
        own = [file for file in path.iterdir() if file.name != "__pycache__"]
        modules = {file.name.partition(".")[0] for file in own}
        others = [package for package in packages.iterdir() if package.name.partition(".")[0] not in modules]
        for linked in (*others, *own):
            yield f"{step.folder}/{path.name}/{linked.name}", linked


def _lay(folder: Path, links: Mapping[str, Path]) -> None:
    """Make ``folder`` have these links, by their paths in it, and no others."""
    folder.mkdir(exist_ok=True)
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    parents = {parent for inner in links for parent in map(str, Path(inner).parents)}
    for inner, path in sorted(there.items(), reverse=True):
        if path.is_symlink() and links.get(inner) != path.readlink():
            path.unlink()
        elif path.is_dir() and not path.is_symlink() and inner not in parents:
            shutil.rmtree(path)
    for inner, target in links.items():
        path = folder / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.symlink_to(target)


def _refuse_lacking(step: Model, destination: Destination, declared: Declared, made: Entry) -> None:
    """Raise :class:`EnsembleError` for an import that the packages lack."""
    there = modules_in(made.path)
    for file, module, _ in missing_imports(step, destination):
        if there.isdisjoint(module.alternatives) and not module.later and not module.elsewhere:
            message = f"nothing that {declared.place} installs has a module '{module.package}'"
            cure = f"write {PROVIDERS.get(module.package, module.package)} into {declared.place}"
            raise EnsembleError(message, path=written(step, file), line=file.place(module.node).line, cure=cure)
