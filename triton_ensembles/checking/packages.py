"""Packages beside model.py, unpacked from wheels: Triton's own Python imports them (pb_stub.cc: sys.path)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from packaging.tags import Tag, parse_tag
from packaging.utils import canonicalize_name

from triton_ensembles.archive.tree import join
from triton_ensembles.checking.environments import Environment, subtree
from triton_ensembles.checking.repository import Model, Repository

_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_\w+$|manylinux(1|2010|2014)_\w+$")
WRONG_NUMPY = "the steps load, and give wrong answers without an error: arrays are misread in both directions"
_OLD_MANYLINUX = {"1": (2, 5), "2010": (2, 12), "2014": (2, 17)}  # PEP 600
_EXTENSION = re.compile(r"\.cpython-3(\d+)-[\w-]+\.so$")
_TAG = re.compile(r"^Tag:[ ]*(\w[\w.]*-\w[\w.]*-\w[\w.]*)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Packages(Environment):
    """The packages in a version folder: an environment that is nothing but site-packages."""

    @cached_property
    def site_packages(self) -> tuple[str, ...]:
        return ("",)

    @cached_property
    def modules(self) -> frozenset[str]:
        """The names under which the packages are imported, without the step's own modules."""
        return frozenset(name for distribution in self.distributions() for name in self._names(*distribution))

    def wheels(self) -> Iterator[tuple[str, frozenset[Tag]]]:
        """The path of each WHEEL file, and its tags."""
        for _, folder in self.distributions():
            entry = self.tree.get(join(folder, "WHEEL"))
            written = _TAG.findall((entry.text or "") if entry else "")
            if written:
                yield join(folder, "WHEEL"), frozenset(tag for text in written[:200] for tag in parse_tag(text))

    def unsuited(self, python: str) -> list[tuple[str, str]]:
        """The files that a Python (``3.10``) cannot import: path, and what they are for."""
        minor = int(python.partition(".")[2])
        unsuited_files = [
            (path, " or ".join(sorted({f"{tag.interpreter}-{tag.abi}" for tag in tags})))
            for path, tags in self.wheels()
            if not any(_suits(tag, minor) for tag in tags)
        ]
        extensions: dict[str, list[tuple[int, str]]] = {}
        for entry in () if unsuited_files else self.tree.members:  # of packages whose tags say nothing
            if match := _EXTENSION.search(entry.path):
                extensions.setdefault(entry.path[: match.start()], []).append((int(match[1]), entry.path))
        for files in extensions.values():
            if minor not in dict(files):
                unsuited_files.append((files[0][1], f"Python 3.{files[0][0]}"))
        return unsuited_files

    def _names(self, distribution: str, path: str) -> Iterator[str]:
        """``top_level.txt`` or RECORD says them; otherwise it is the name of the distribution, as for most."""
        for file in ("top_level.txt", "RECORD"):
            entry = self.tree.get(join(path, file))
            if entry and entry.text:
                names = {line.partition(",")[0].partition("/")[0].partition(".")[0] for line in entry.text.splitlines()}
                yield from names - {"", path.partition(".")[0]}
                return
        yield canonicalize_name(distribution).replace("-", "_")


def _suits(tag: Tag, minor: int) -> bool:
    match = re.fullmatch(r"(py|cp)3(\d*)", tag.interpreter)
    if not match:
        return False
    oldest = int(match[2] or 0)
    return oldest <= minor if match[1] == "py" or tag.abi == "abi3" else oldest == minor


def packages_of(model: Model) -> list[Packages]:
    """The packages in each version folder that is served and has any; [] for most models."""
    folders = [join(model.root, model.versions[number]) for number in model.served_versions]
    return [packages for folder in folders if (packages := packages_in(model.repository, folder))]


def packages_in(repository: Repository, folder: str) -> Packages | None:
    """The packages in ``folder``, a path in the repository; None if no wheel was unpacked there."""
    if not any(name.endswith(".dist-info") for name in repository.tree.children(folder)):
        return None
    return repository.once(f"{folder}/*.dist-info", lambda: Packages(folder, subtree(repository.tree, folder)))


def used_packages(repository: Repository) -> list[Packages]:
    """The packages of all models of the repository."""
    return [packages for model in repository.models for packages in packages_of(model)]


def glibc_of(tag: str) -> tuple[int, int] | None:
    match = _MANYLINUX.search(tag)
    if not match:
        return None
    return _OLD_MANYLINUX[match[3]] if match[3] else (int(match[1]), int(match[2]))
