"""Additions to the checker by packages above it: rules, and what their build makes of a folder.

Such a package adds its name to :data:`EXTENSIONS` and has a package ``rules`` like that of the checker, with an
examples.toml, and a :class:`SourceForm` called ``SOURCE_FORM``. Without one, every folder is as Triton reads it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # this module is part of "import triton_ensembles", which is fast
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from triton_ensembles.triton.requirements import Declared

EXTENSIONS: list[str] = []
"""The names of the packages, which are imported when the checker is first used."""


class Build(Protocol):
    """The result of a build of one folder. It may make anything where that is not known."""

    @property
    def ensemble_folder(self) -> str:
        """The model that the build gives the name of the whole folder, and that clients call."""

    def parameters_of(self, model: str) -> Mapping[str, tuple[str, int]]:
        """Return the values that the build adds to the ``parameters`` of ``model``, and their lines in the recipe."""

    def versions_of(self, model: str) -> Collection[str]:
        """Return the version folders of ``model`` that the build puts a file into."""

    def makes(self, path: str) -> bool:
        """Return whether the build makes the file, or something in the folder, at ``path`` (``dali/1/model.dali``)."""

    def makes_version_of(self, model: str) -> bool:
        """Return whether the build puts a file into any version folder of ``model``."""

    def makes_file_to_load(self, model: str, version: str, backend: str, names: Collection[str]) -> bool:
        """Return whether the build puts a file that the ``backend`` of ``model`` loads into the folder ``version``: one
        of ``names``, or a model file of another engine, to which the build changes it."""

    def makes_model_for(self, model: str, backends: Collection[str]) -> bool:
        """Return whether the build makes a file of ``model`` for one of ``backends``, to which it changes the model."""

    def gives_environment(self, model: str) -> bool:
        """Return whether the build gives the Python step ``model`` an environment."""

    def python_of(self, model: str) -> str:
        """Return the minor version of Python (``3.10``) that the environment of ``model`` asks for; "" for none."""


class SourceForm(Protocol):
    """How the folders that a build reads are told from others."""

    @property
    def recipe(self) -> str:
        """The name of the file that each of them has."""

    def read(self, text: str | None, folder: Path) -> Build:
        """Read what the build makes of ``folder``, whose recipe is ``text``, or None when it was not kept."""

    def declared(self, folder: Path) -> Declared | None:
        """Return the packages that are declared for the Python step in ``folder``, which no recipe is about."""


@cache
def source_forms() -> tuple[SourceForm, ...]:
    """Return the forms of all extensions."""
    return tuple(import_module(name).SOURCE_FORM for name in EXTENSIONS)
