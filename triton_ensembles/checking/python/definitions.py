"""The functions and classes that names certainly mean, in the same file or in another one of the model."""

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from triton_ensembles.checking.python.nodes import Function, dotted, name_of
from triton_ensembles.checking.python.source import PythonFile

CLASS = "TritonPythonModel"
_DEEPEST = 8  # files that import a name from each other
_Node = TypeVar("_Node", bound=ast.AST)


class Definition(NamedTuple, Generic[_Node]):
    """A function or a class, and the file that it is in."""

    file: PythonFile
    node: _Node


def definition_of(file: PythonFile, name: str, depth: int = 0) -> Definition[Function | ast.ClassDef] | None:
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


@dataclass(frozen=True)
class ModelClass:
    """The model's class and, from the nearest, the classes of the model's files that it inherits from, one by one."""

    parts: tuple[Definition[ast.ClassDef], ...] = ()
    is_whole: bool = False  # whether these are all that it inherits from

    @property
    def is_plain(self) -> bool:
        """Return whether no decorator and no metaclass may change what these classes have."""
        return not any(node.decorator_list or node.keywords for _, node in self.parts)

    def may_bind(self, name: str) -> bool:
        return any(file.scopes.may_bind(node, name) for file, node in self.parts)

    def method(self, name: str) -> Definition[Function] | None:
        """Return the method of the model: its own, or that of the nearest class that it inherits from."""
        for file, model_class in self.parts:
            if binders := file.scopes.binders_in(model_class, name):
                method = binders[-1]
                is_method = isinstance(method, Function) and file.scopes.in_body(method, model_class)
                return Definition(file, method) if is_method else None  # type: ignore[arg-type]
        return None


def model_class_of(file: PythonFile) -> ModelClass:
    """Return the class of the model that a file is of: that of the model.py which a file of base classes is for."""
    for first in (file, *file.together):
        found = _class_in(first)
        if found.parts and (first is file or any(part.file is file for part in found.parts)):
            return found
    return ModelClass()


@lru_cache(maxsize=256)
def _class_in(file: PythonFile) -> ModelClass:
    parts: list[Definition[ast.ClassDef]] = []
    found = definition_of(file, CLASS)
    while found and isinstance(found.node, ast.ClassDef) and (part := Definition(found.file, found.node)) not in parts:
        parts.append(part)
        names = _bases(part.node)
        if len(names) != 1:
            return ModelClass(tuple(parts), not names)
        found = definition_of(part.file, names[0])
    return ModelClass(tuple(parts))


def _bases(node: ast.ClassDef) -> list[str]:
    """Return the names of its base classes, "" for what is no name, without those of Python that bring no methods."""
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [dotted(base) for base in bases if name_of(base) not in ("ABC", "object", "Generic", "Protocol")]
