"""The names that modules have, by version, and those that a Python file takes from them.

The tables have lines ``MODULE FIRST-LAST NAME …``, and their heads say where they are from.
"""

import ast
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path

from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import is_changed
from triton_ensembles.checking.python.source import PythonFile

_ASKING = ("setattr", "hasattr", "getattr")
DTYPES = "dtype"
"""In the place of a module of numpy: its dtypes as texts."""
Version = tuple[int, ...]
Span = tuple[Version, Version]


class NameTable:
    """The table in the file ``name`` beside this one, which covers the minor versions from ``oldest`` to ``newest``; a
    span without a last version reaches to the newest."""

    def __init__(self, name: str, oldest: Version, newest: Version) -> None:
        self._path = Path(__file__).with_name(name)
        self.oldest = oldest
        self.newest = newest

    def version(self, text: str) -> Version | None:
        """``1.26.4`` as (1, 26); None for one that the table does not know."""
        match = re.match(r"(\d+)\.(\d+)", text)
        version = (int(match[1]), int(match[2])) if match else None
        return version if version and self.oldest <= version <= self.newest else None

    @cached_property
    def modules(self) -> frozenset[str]:
        """``numpy``, ``numpy.random`` …"""
        return frozenset(self._names) - {DTYPES}

    def spans(self, module: str, name: str) -> tuple[Span, ...]:
        """From which version to which ``module`` has ``name``: () when no version has it."""
        return tuple(self._names[module].get(name, ()))

    def has(self, module: str, name: str, version: Version) -> bool:
        return any(first <= version <= last for first, last in self.spans(module, name))

    def names(self, module: str, version: Version) -> Iterator[str]:
        """The names that ``module`` has in this version."""
        return (name for name in self._names[module] if self.has(module, name, version))

    @cached_property
    def _names(self) -> dict[str, dict[str, list[Span]]]:
        spans: dict[str, dict[str, list[Span]]] = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            module, span, *names = line.split()
            if module == "#":
                continue
            first, last = (self.version(edge) for edge in span.split("-"))
            for name in names:
                spans.setdefault(module, {}).setdefault(name, []).append((first or self.oldest, last or self.newest))
        return spans


NUMPY = NameTable("numpy_names.txt", (1, 17), (2, 4))
STANDARD = NameTable("standard_names.txt", (3, 8), (3, 13))


def taken_names(
    file: PythonFile, modules: AbstractSet[str]
) -> Iterator[tuple[ast.Attribute | ast.ImportFrom, str, str]]:
    """The nodes that take a public name of one of ``modules``, each with the module and the name.

    Not those of a package that the file puts names into or asks for names, not those taken through a name that may be
    something else, and not those in annotations.
    """
    if file.module is None:
        return
    packages = {_package(module) for module in modules}
    patched = _patched(file)
    shadowed = _shadowed(file, packages)
    for node in file.nodes:
        if isinstance(node, ast.ImportFrom):
            if node.module in modules and not node.level and _package(node.module or "") not in patched:
                yield from ((node, node.module or "", alias.name) for alias in node.names if _is_public(alias.name))
        elif isinstance(node, ast.Attribute) and not is_changed(node) and _is_public(node.attr):
            module = file.full_name(node.value)
            if module not in modules or _package(module) in patched or _is_annotation(file, node):
                continue
            root = next(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
            if root in file.names and root not in shadowed:
                yield node, module, node.attr


def _shadowed(file: PythonFile, packages: AbstractSet[str]) -> frozenset[str]:
    """The names of these packages' imports that the file binds to something else as well."""
    flow = flow_of(file)
    bound = {name for name, full in file.names.items() if _package(full) in packages}
    arguments = {node.arg for node in file.nodes if isinstance(node, ast.arg)}
    return frozenset(name for name in bound if name in arguments or len(flow.binders(name, flow.module)) > 1)


def _patched(file: PythonFile) -> frozenset[str]:
    changed = (node.value for node in file.nodes if isinstance(node, ast.Attribute) and is_changed(node))
    queried = (call.args[0] for call, name in file.calls() if name in _ASKING and call.args)
    return frozenset(_package(file.full_name(node)) for node in (*changed, *queried))


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_public(name: str) -> bool:
    return not name.startswith(("_", "*"))


def _is_annotation(file: PythonFile, node: ast.AST) -> bool:
    """Whether it stands in an annotation, which may never be evaluated."""
    for parent, child in flow_of(file).above(node):
        annotations = (getattr(parent, "returns", None), getattr(parent, "annotation", None))
        if isinstance(parent, ast.arg) or child in annotations:
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False
