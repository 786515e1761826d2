"""Faults that pyproject.toml accepts::

[tool.triton-ensembles.check]
ignore = ["version-missing"]

[tool.triton-ensembles.check.per-file-ignores]
"legacy/**" = ["model-py-no-execute"]
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.rule import REGISTERED, cure_for
from triton_ensembles.checking.suppression.accepted import Accepted
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.spelling import choices, suggestion
from triton_ensembles.ground.toml_tables import SETTINGS, line_naming, settings_of

_TABLE = ("tool", "triton-ensembles", "check")
_SHOWN = f"[{'.'.join(_TABLE)}]"
_KEYS = ("ignore", "per-file-ignores")


@dataclass(frozen=True)
class _Table:
    """A pyproject.toml: the rules that it ignores, by a pattern of paths relative to its ``folder``."""

    folder: Path
    ignores: Mapping[str, Collection[str]]

    def ignores_fault(self, fault: Fault) -> bool:
        patterns = [pattern for pattern, rules in self.ignores.items() if fault.rule in rules]
        root = f"{self.folder}{os.sep}"
        # Both: the path may lead through a link, or be one.
        paths = (find(fault.place.path) for find in (os.path.abspath, os.path.realpath)) if patterns else ()
        inside = {path.removeprefix(root) for path in paths if path.startswith(root)}
        return any(_matches(path, pattern) for path in inside for pattern in patterns)


def split_ignored(faults: Iterable[Fault], paths: Iterable[Path]) -> tuple[list[Fault], list[Accepted]]:
    """The ``faults`` that count, and those that a pyproject.toml accepts: the nearest one with the table, in each of
    the ``paths`` or above it, within its git repository. Raises :class:`EnsembleError`: one of them is not TOML, or the
    table has what check does not know, such as another rule."""
    folders: dict[Path, _Table | None] = {}
    for path in paths:
        for folder in _upward(path.resolve()):
            if folder not in folders:
                folders[folder] = _read(folder)
            if folders[folder]:
                break
    tables = [table for table in folders.values() if table]
    kept: list[Fault] = []
    accepted: list[Accepted] = []
    for fault in faults:
        if any(table.ignores_fault(fault) for table in tables):
            accepted.append(Accepted(fault, f"ignored by {_SHOWN} of {SETTINGS}", in_source=False))
        else:
            kept.append(fault)
    return kept, accepted


def _upward(path: Path) -> Iterable[Path]:
    for folder in (path, *path.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _read(folder: Path) -> _Table | None:
    settings = settings_of(folder)
    table = settings and settings[0].get(_TABLE[-1])
    return _Reader(folder / SETTINGS, settings[1]).table(table) if settings and table is not None else None


@dataclass(frozen=True)
class _Reader:
    path: Path
    text: str

    def table(self, table: Any) -> _Table:
        if not isinstance(table, dict):
            raise self._error(f"{_SHOWN} is not a table", _TABLE[-1])
        self._known(table, _KEYS, "key")
        files = table.get("per-file-ignores", {})
        if not isinstance(files, dict):
            raise self._error("per-file-ignores is not a table", "per-file-ignores", 'write "PATTERN" = ["rule-id"]')
        ignores = {"**": self._rule_list(table.get("ignore", []), "ignore")}
        for pattern, names in files.items():
            ignores[pattern] = ignores.get(pattern, set()) | self._rule_list(names, pattern)
        return _Table(self.path.parent, ignores)

    def _rule_list(self, names: Any, key: str) -> set[str]:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self._error(f'"{key}" is not a list of rules', key, f'write {key} = ["rule-id"]')
        self._known(names, REGISTERED, "rule")
        return set(names)

    def _known(self, names: Iterable[str], known: Collection[str], kind: str) -> None:
        for name in names:
            if name not in known:
                of_keys = suggestion(name, known) or f"the keys are {choices(known)}"
                cure = of_keys if kind == "key" else cure_for(name)
                raise self._error(f"{_SHOWN} names a {kind} '{name}', which does not exist", name, cure)

    def _error(self, message: str, name: str, cure: str = "") -> EnsembleError:
        return EnsembleError(message, path=self.path, line=line_naming(self.text, [name]), cure=cure)


def _matches(path: str, pattern: str) -> bool:
    """Return whether ``pattern`` fits the path (of a member: ``a.tar.gz!step/config.pbtxt``), a folder or archive that
    it is in, or its name. ``*`` also fits ``/``, as in the per-file-ignores of other linters."""
    glob = pattern.removeprefix("./").rstrip("/")
    folders: Sequence[str] = [path[: match.start()] for match in re.finditer(r"[/!]", path)]
    candidates = (f"/{path}", path, *folders, re.split(r"[/!]", path)[-1])  # the first for **/x at the top
    return any(fnmatchcase(candidate, glob) for candidate in candidates)
