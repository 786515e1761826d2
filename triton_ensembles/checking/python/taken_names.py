"""The names that a Python file takes from a module, by attribute and by import, where they are the module's own."""

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.name_table import NameTable
from triton_ensembles.checking.python.nodes import is_changed
from triton_ensembles.checking.python.source import PythonFile

_ASKING = ("setattr", "hasattr", "getattr")


def taken_names(file: PythonFile, table: NameTable) -> Iterator[tuple[ast.Attribute | ast.ImportFrom, str, str]]:
    """The nodes that take a name, each with the module and the name, for public names of the modules in ``table``.

    Not those of a package that the file puts names into or asks for names, not those taken through a name that may be
    something else, and not those in annotations.
    """
    if file.module is None:
        return
    packages = {_package(module) for module in table.modules}
    patched = _patched(file)
    shadowed = _shadowed(file, packages)
    for node in file.nodes:
        if isinstance(node, ast.ImportFrom):
            if node.module in table.modules and not node.level and _package(node.module or "") not in patched:
                yield from ((node, node.module or "", alias.name) for alias in node.names if _is_public(alias.name))
        elif isinstance(node, ast.Attribute) and not is_changed(node) and _is_public(node.attr):
            module = file.full_name(node.value)
            root = _root(node)
            if module not in table.modules or root not in file.names or root in shadowed:
                continue
            if _package(module) not in patched and not _is_annotation(file, node):
                yield node, module, node.attr


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


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
