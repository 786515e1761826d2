"""The functions and classes that names certainly mean, in the same file or in another one of the model."""

import ast
from functools import lru_cache
from typing import NamedTuple

from triton_ensembles.checking.python.nodes import Function, dotted, name_of
from triton_ensembles.checking.python.source import PythonFile

CLASS = "TritonPythonModel"
_DEEPEST = 8  # files that import a name from each other


class Definition(NamedTuple):
    """A function or a class, and the file that it is in."""

    file: PythonFile
    node: Function | ast.ClassDef


def definition_of(file: PythonFile, name: str, depth: int = 0) -> Definition | None:
    """Return what a name means (``helper``, ``module.Class``), where each file on the way binds it once."""
    first = name.partition(".")[0]
    nodes = file.scopes.everywhere(first)
    if len(nodes) != 1 or depth > _DEEPEST:
        return None
    if isinstance(nodes[0], Function | ast.ClassDef):
        is_global = file.module is not None and nodes[0] in file.module.body
        return Definition(file, nodes[0]) if is_global and name == first else None
    known = next((key for key in sorted(file.own, reverse=True) if f"{name}.".startswith(f"{key}.")), None)
    if known is None:
        return None
    module, inner = file.own[known]
    return definition_of(module, ".".join(filter(None, (inner, name[len(known) + 1 :]))), depth + 1)


class Ancestor(NamedTuple):
    """The model's class, or one that it inherits from, and the file that it is in."""

    file: PythonFile
    node: ast.ClassDef


def lineage_of(file: PythonFile) -> tuple[tuple[Ancestor, ...], bool]:
    """Return the model's class and, from the nearest, the classes of the model's files that it inherits from, one by
    one, and whether these are all that it inherits from. A file of base classes has the lineage of the model."""
    for first in (file, *file.together):
        lineage, is_whole = _lineage_from(first)
        if lineage and (first is file or any(part.file is file for part in lineage)):
            return lineage, is_whole
    return (), False


@lru_cache(maxsize=256)
def _lineage_from(file: PythonFile) -> tuple[tuple[Ancestor, ...], bool]:
    lineage: list[Ancestor] = []
    part = definition_of(file, CLASS)
    while part and isinstance(part.node, ast.ClassDef) and (ancestor := Ancestor(part.file, part.node)) not in lineage:
        lineage.append(ancestor)
        names = _bases(part.node)
        if len(names) != 1:
            return tuple(lineage), not names
        part = definition_of(part.file, names[0])
    return tuple(lineage), False


def _bases(node: ast.ClassDef) -> list[str]:
    """Return the names of its base classes, "" for what is no name, without those of Python that bring no methods."""
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [dotted(base) for base in bases if name_of(base) not in ("ABC", "object", "Generic", "Protocol")]
