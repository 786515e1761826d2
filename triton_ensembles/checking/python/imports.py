"""The packages that a Python file imports, and cannot do without."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from triton_ensembles.checking.python.flow import When, flow_of
from triton_ensembles.checking.python.nodes import Function
from triton_ensembles.checking.python.source import PythonFile

_CALLED = ("initialize", "execute", "finalize", "auto_complete_config")  # by Triton


@dataclass(frozen=True)
class Import:
    """A top-level package that a file imports at ``node``.

    ``instead_of`` is the package without which a handler imports this one. ``later`` is true inside a function that may
    run after the load: the import fails when the function is called. ``elsewhere`` is true where the model adds folders
    to ``sys.path``, which may have it.
    """

    package: str
    node: ast.AST
    later: bool = False
    instead_of: str = ""
    elsewhere: bool = False

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The packages of which one is enough: its own, and that which it stands in for."""
        return (self.package, self.instead_of) if self.instead_of else (self.package,)


def imports_of(file: PythonFile) -> Iterator[Import]:
    """Yield what a file imports, in order; not below ``if``, where the lines around it expect that it may be missing,
    and in functions that nothing calls."""
    statements = [node for node in file.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
        packages = _packages(node)
        instead_of = _instead_of(file, node) if packages else None
        if instead_of is not None and not _is_never_called(file, node):
            is_later = flow_of(file).called(node) is not When.LOAD
            yield from (Import(package, node, is_later, instead_of) for package in packages)


def _packages(node: ast.AST) -> list[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    return [package for name in names if (package := name.partition(".")[0])]


def _instead_of(file: PythonFile, node: ast.AST) -> str | None:
    """Return the package that is tried before this import, "" if there is none; None where it may be missing."""
    flow, instead_of = flow_of(file), ""
    if any(map(_is_of_imports, flow.caught(node))):
        return None
    for parent, child in file.scopes.above(node):
        if isinstance(parent, ast.If):
            return None
        if isinstance(parent, ast.Try | ast.TryStar) and isinstance(child, ast.ExceptHandler):
            tried = next((package for statement in parent.body for package in _packages(statement)), "")
            if not tried or not _is_of_imports(child.type) or not flow.goes_on(child):
                return None
            instead_of = instead_of or tried
    return instead_of


def _is_of_imports(error: ast.expr | None) -> bool:
    """Return whether ``except error`` catches a missing module; errors that are not Python's own may be anything."""
    if error is None:
        return True
    if isinstance(error, ast.Tuple):
        return any(map(_is_of_imports, error.elts))
    known = getattr(builtins, error.id, None) if isinstance(error, ast.Name) else None
    return not isinstance(known, type) or issubclass(ModuleNotFoundError, known)


def _is_never_called(file: PythonFile, node: ast.AST) -> bool:
    """Return whether nothing in the model's files names the function around it, nor do Python and Triton call that."""
    functions = [parent for parent, _ in file.scopes.above(node) if isinstance(parent, Function)]
    name = functions[-1].name if functions and not functions[-1].decorator_list else "__init__"
    is_called = name in _CALLED or name.startswith("__")
    return not is_called and not any(flow_of(part).is_used(name) for part in file.together)
