"""A model of a repository: its folder, its config.pbtxt, its versions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tritonclient.grpc.model_config_pb2 import ModelConfig

from triton_ensembles.archive.tree import Entry, Tree, join
from triton_ensembles.check.config_file import ConfigFile
from triton_ensembles.check.fault import Place
from triton_ensembles.triton.model_config import CONFIG

if TYPE_CHECKING:
    from triton_ensembles.check.repository import Repository

# core r24.10 model_lifecycle.cc VersionsToLoad: folders of a model that are no versions.
NOT_VERSIONS = ("warmup", "initial_state", "configs")
_NUMBER = re.compile(r"\s*[+-]?\d+")  # std::stoll: leading blanks and a sign are taken, and what follows is ignored


@dataclass(frozen=True)
class Model:
    """One model folder.

    Args:
        folder: its name, which is the model's name for Triton.
        root: its path within the tree, "" when the repository itself is the one model.
        shown: the path that people see.
        repository: the one it belongs to.
    """

    folder: str
    root: str
    shown: str
    repository: Repository = field(repr=False, compare=False)

    @property
    def tree(self) -> Tree:
        """The files of the whole repository."""
        return self.repository.tree

    @property
    def config(self) -> ModelConfig:
        """The ModelConfig, empty when there is no config.pbtxt (see :attr:`has_config`)."""
        return self.file.config

    @property
    def has_config(self) -> bool:
        return self.tree.get(join(self.root, CONFIG)) is not None

    @cached_property
    def file(self) -> ConfigFile:
        entry = self.tree.get(join(self.root, CONFIG))
        return ConfigFile(f"{self.shown}/{CONFIG}", (entry.text if entry else None) or "")

    def at(self, *path: str | int | bool) -> Place:
        """The place of a field of config.pbtxt; see :meth:`ConfigFile.at`."""
        return self.file.at(*path)

    def place(self, path: str = "") -> Place:
        """The place of a file or folder of the model as a whole."""
        return Place(join(self.shown, path) if path else self.shown)

    def get(self, path: str) -> Entry | None:
        """The entry at ``path`` within the model's folder."""
        return self.tree.get(join(self.root, path))

    def children(self, folder: str = "") -> list[str]:
        return self.tree.children(join(self.root, folder) if folder else self.root)

    @property
    def name(self) -> str:
        """The name the model goes by: the config may leave it out."""
        return self.config.name or self.folder

    @property
    def is_ensemble(self) -> bool:
        return bool(self.config.HasField("ensemble_scheduling")) or self.config.platform == "ensemble"

    @cached_property
    def versions(self) -> dict[int, str]:
        """Version numbers and the names of their folders, as core r24.10 VersionsToLoad finds them.

        In ensembles/ those that the build makes count too.
        """
        found: dict[int, str] = {}
        for name in self.tree.folders(self.root):
            if name in NOT_VERSIONS or (len(name) > 1 and name.startswith("0")):
                continue
            if match := _NUMBER.match(name[:40]):
                number = int(match.group())
                if -(2**63) <= number < 2**63:
                    found.setdefault(number, name)
        recipe = self.repository.recipe
        for name in recipe.versions_of(self.folder) if recipe else ():
            found.setdefault(int(name), name)
        if recipe and not found and self.is_ensemble:
            found[1] = "1"  # it is empty, and git keeps no empty folders
        return found

    def served_versions(self) -> list[int]:
        """The versions that the version policy picks, the newest first."""
        newest_first = sorted(self.versions, reverse=True)
        policy = self.config.version_policy
        kind = policy.WhichOneof("policy_choice")
        if kind == "specific":
            return [number for number in newest_first if number in set(policy.specific.versions)]
        if kind == "all":
            return newest_first
        # A version_policy { } without a choice is neither: core then takes all of them.
        if kind is None and self.config.HasField("version_policy"):
            return newest_first
        # latest { } without a number means num_versions 0, that is, none.
        return newest_first[: policy.latest.num_versions if kind == "latest" else 1]

    def is_damaged(self, *path: str | int | bool) -> bool:
        return self.file.damaged(*path)
