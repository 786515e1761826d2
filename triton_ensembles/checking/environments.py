"""The Python environments in a repository, read from their archives; nothing in them is run.

A step names its environment, a folder or a .tar.gz, with the parameter EXECUTION_ENV_PATH (python_backend r24.10
python_be.cc, pb_env.cc). Packages may also lie beside model.py, unpacked from wheels: see :mod:`.packages`.
"""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

from packaging.utils import canonicalize_name

from triton_ensembles.archive.tree import Entry, Kind, Tree, is_archive, join
from triton_ensembles.checking.fault import Place
from triton_ensembles.checking.repository import Model, Repository
from triton_ensembles.triton.backends import LOADS_FILE, LOADS_NONE
from triton_ensembles.triton.pip_server import STUB

_NATIVE = {*LOADS_FILE, *LOADS_NONE} - {"python"}
PARAMETER = "EXECUTION_ENV_PATH"
MODEL_FOLDER = "$$TRITON_MODEL_DIRECTORY"
_PYTHON = re.compile(r"lib/python(3\.(?!1$)\d+)$")  # conda's python3.1 is another name of 3.10 and later
_DIST = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._]*?)-(?P<version>[^-]+)\.(?:dist|egg)-info$")
_CONDA = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-[^-]+\.json$")


class Location(Enum):
    """Where EXECUTION_ENV_PATH points to."""

    MODEL = auto()  # in the model's folder
    REPOSITORY = auto()  # outside of it, within the repository
    OUTSIDE = auto()  # .. points outside the repository
    ABSOLUTE = auto()  # an absolute path
    RELATIVE = auto()  # no $$TRITON_MODEL_DIRECTORY: relative to the folder in which tritonserver was started


@dataclass(frozen=True)
class Reference:
    """EXECUTION_ENV_PATH of a model: ``path`` is within the repository, "" when it is not inside."""

    written: str
    location: Location
    path: str = ""


def reference(model: Model) -> Reference | None:
    """The environment that the model names, None when it names none or nothing asks for it."""
    if PARAMETER not in model.config.parameters or not may_run_python(model):
        return None
    written = model.config.parameters[PARAMETER].string_value
    if not written:  # python_backend then takes the usual Python
        return None
    start = written.find(MODEL_FOLDER)
    if start < 0:
        return Reference(written, Location.ABSOLUTE if written.startswith("/") else Location.RELATIVE)
    path = posixpath.normpath(f"./{model.root}/{written[start + len(MODEL_FOLDER) :]}")
    if path == ".." or path.startswith("../"):
        return Reference(written, Location.OUTSIDE)
    is_inside = path.startswith(f"{model.root}/") if model.root else path != "."
    return Reference(written, Location.MODEL if is_inside else Location.REPOSITORY, "" if path == "." else path)


def may_run_python(model: Model) -> bool:
    """Return whether the model's backend may be Python, or one that is written in it (vllm, custom ones)."""
    native = model.is_ensemble or model.backend.name in _NATIVE
    return not native or model.config.runtime == "model.py"


@dataclass(frozen=True)
class Environment:
    """A packed environment: ``tree`` is what is in it, ``path`` where it is in the repository; ``size`` is that of the
    .tar.gz in bytes, 0 for a folder, which Triton does not extract."""

    path: str
    tree: Tree
    size: int = 0

    @cached_property
    def pythons(self) -> tuple[str, ...]:
        """Minor versions (``3.11``) that it has a folder for; only those with the standard library if there are any."""
        matches = [match for name in self.tree.folders("lib") if (match := _PYTHON.fullmatch(f"lib/{name}"))]
        versions = tuple(match[1] for match in matches)
        return tuple(python for python in versions if self.tree.get(f"lib/python{python}/os.py")) or versions

    @property
    def has_library(self) -> bool:
        return any(self.tree.get(f"lib/python{python}/os.py") for python in self.pythons)

    @cached_property
    def site_packages(self) -> tuple[str, ...]:
        folders = (f"lib/python{python}/site-packages" for python in self.pythons)
        return tuple(folder for folder in folders if self.tree.is_folder(folder))

    @cached_property
    def modules(self) -> frozenset[str]:
        """Every name that can be imported, without the dotted rest: packages and the standard library."""
        names: set[str] = set()
        for python in self.pythons:
            folder = f"lib/python{python}"
            site = f"{folder}/site-packages"
            added = (posixpath.normpath(f"{site}/{line}") for line in self._lines_of_pth(site))
            for place in (folder, f"{folder}/lib-dynload", site, *added):
                names.update(name.partition(".")[0] for name in self.tree.children(place))
        return frozenset(names)

    @cached_property
    def versions(self) -> dict[str, str]:
        """Installed distributions, names in lower case with ``-`` for ``_``."""
        versions: dict[str, str] = {}
        for folder, pattern in (("conda-meta", _CONDA), *((folder, _DIST) for folder in self.site_packages)):
            for name in self.tree.children(folder):
                if match := pattern.fullmatch(name):
                    versions[canonicalize_name(match["name"])] = match["version"]
        return versions

    def distributions(self) -> Iterator[tuple[str, str]]:
        """The folders ``….dist-info`` of site-packages, as (distribution, path)."""
        for folder in self.site_packages:
            for name in self.tree.children(folder):
                if name.endswith(".dist-info"):
                    yield name.partition("-")[0], join(folder, name)

    def texts(self, folder: str) -> Iterator[Entry]:
        for name in self.tree.children(folder):
            entry = self.tree.get(join(folder, name))
            if entry and entry.kind is Kind.FILE and entry.data is not None:
                yield entry

    def _lines_of_pth(self, folder: str) -> Iterator[str]:
        """Folders that .pth files add, such as the eggs of easy-install.pth, among other lines."""
        for entry in self.texts(folder):
            if entry.path.endswith(".pth"):
                yield from (line.strip() for line in (entry.text or "").splitlines()[:1000])

    @cached_property
    def fingerprint(self) -> int:
        """Equal for equal content, judged by names, sizes and links, however it was packed."""
        return hash(frozenset((entry.path, entry.kind, entry.size, entry.target) for entry in self.tree.members))

    @cached_property
    def unpacked(self) -> int:
        """Bytes on disk when Triton has extracted it."""
        return sum(entry.size for entry in self.tree.members)


def environment(repository: Repository, path: str) -> Environment | None:
    """The environment at ``path``; None when there is none, or when the archive cannot be read."""
    return repository.once(path, lambda: _read(repository.tree, path))


def used_environments(repository: Repository) -> list[Environment]:
    """All the environments that models of the repository name, each once."""
    return _environments(repository, {named.path for model in repository.models if (named := reference(model))})


def environments(repository: Repository) -> list[Environment]:
    """The used environments, and other archives that look like one."""
    used = {packed.path for packed in used_environments(repository)}
    archives = {path for path, entry in repository.tree.entries.items() if entry.kind is Kind.FILE and is_archive(path)}
    return _environments(repository, used | archives)


def _environments(repository: Repository, paths: set[str]) -> list[Environment]:
    return [packed for path in sorted(paths) if path and (packed := environment(repository, path))]


def environment_of(model: Model) -> Environment | None:
    named = reference(model)
    return environment(model.repository, named.path) if named and named.path else None


def has_stub(model: Model) -> bool:
    """Return whether the model has its own stub, which Triton prefers to the image's."""
    return model.get(STUB) is not None


def _read(tree: Tree, path: str) -> Environment | None:
    entry = tree.get(path)
    if entry is None:
        return None
    if entry.is_folder:
        return Environment(path, subtree(tree, path))
    nested = tree.nested(path) if is_archive(path) else None
    return Environment(path, nested, entry.size) if nested and nested.members else None


def subtree(tree: Tree, folder: str) -> Tree:
    """The files below ``folder``, with paths relative to it."""
    prefix = f"{folder}/"
    return Tree(replace(entry, path=entry.path.removeprefix(prefix)) for entry in tree.below(folder))


def place_in(repository: Repository, packed: Environment, inner: str = "") -> Place:
    """``a.tar.gz!env.tar.gz!lib/x`` or ``a.tar.gz!step/environment/lib/x``: a place within the environment."""
    place = repository.place(packed.path)
    return Place(f"{place.path}{'!' if packed.size else '/'}{inner}") if inner else place
