"""The packages that a Python file imports, and whether it can do without them."""

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from triton_ensembles.checking.python.nodes import Function, Try, With, may_end_before
from triton_ensembles.checking.python.scope import Scopes

_MODEL = "TritonPythonModel"


@dataclass(frozen=True)
class Import:
    """A top-level package that a file imports at ``node``.

    ``certain`` is false where the file itself expects that it may be missing: inside ``if``, or where a ``try`` or a
    ``with suppress(…)`` catches that. ``instead_of`` is the package without which a handler imports this one. ``later``
    is true inside a function: it fails when the function is called, not when the model is loaded. ``function`` is the
    outermost one that it is in, if nothing decorates that. ``elsewhere`` is true where the model adds folders to
    ``sys.path``, which may have it.
    """

    package: str
    node: ast.AST
    certain: bool = True
    later: bool = False
    instead_of: str = ""
    elsewhere: bool = False
    function: str = ""

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The packages of which one is enough: its own, and that which it stands in for."""
        return (self.package, self.instead_of) if self.instead_of else (self.package,)


def imports_of(nodes: Iterable[ast.AST], scopes: Scopes, full_name: Callable[[ast.expr], str]) -> Iterator[Import]:
    """Yield what the import statements of a file name, in their order."""
    statements = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
        for package in _packages(node):
            yield _placed(Import(package, node), scopes, full_name)


def _packages(node: ast.AST) -> list[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    return [package for name in names if (package := name.partition(".")[0])]


def _placed(found: Import, scopes: Scopes, full_name: Callable[[ast.expr], str]) -> Import:
    """Return an import with what the lines around it say."""
    for parent, child in scopes.above(found.node):
        if isinstance(parent, ast.If) or (isinstance(parent, With) and _suppresses(parent, full_name)):
            found = replace(found, certain=False)
        elif isinstance(parent, Try):
            found = _tried(found, parent, child, full_name)
        elif isinstance(parent, Function) and _is_later(found.node, parent, scopes):
            found = replace(found, later=True, function="" if parent.decorator_list else parent.name)
    return found


def _tried(found: Import, node: Try, child: ast.AST, full_name: Callable[[ast.expr], str]) -> Import:
    catching, tried = _handling(node, full_name)
    if child in catching and tried:
        return replace(found, instead_of=found.instead_of or tried)
    is_last = node.finalbody and getattr(child, "lineno", 0) >= node.finalbody[0].lineno
    is_unsure = isinstance(child, ast.ExceptHandler) or (catching and not is_last)
    return replace(found, certain=False) if is_unsure else found


@lru_cache(maxsize=256)
def _handling(node: Try, full_name: Callable[[ast.expr], str]) -> tuple[set[ast.ExceptHandler], str]:
    """Return the handlers that go on without a missing module, and the first one that is tried."""
    catching = {handler for handler in node.handlers if _catches(handler.type) and not _ends(handler, full_name)}
    return catching, next((package for statement in node.body for package in _packages(statement)), "")


def _is_later(node: ast.AST, function: Function, scopes: Scopes) -> bool:
    """Return whether a function may run after the load: not ``initialize``, without which Triton loads no model, but
    for what follows a ``return`` of it."""
    holder = scopes.parents.get(function)
    is_of_load = function.name == "initialize" and isinstance(holder, ast.ClassDef) and holder.name == _MODEL
    return not is_of_load or may_end_before(function, node)


def _catches(error: ast.expr | None) -> bool:
    """Return whether ``except error`` catches a missing module; errors that are not Python's own may be anything."""
    if error is None:
        return True
    if isinstance(error, ast.Tuple):
        return any(map(_catches, error.elts))
    known = getattr(builtins, error.id, None) if isinstance(error, ast.Name) else None
    return not isinstance(known, type) or issubclass(ModuleNotFoundError, known)


def _ends(handler: ast.ExceptHandler, full_name: Callable[[ast.expr], str]) -> bool:
    """Return whether the handler raises after all."""
    last = handler.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return full_name(last.value.func) in ("sys.exit", "exit", "quit")
    return isinstance(last, ast.Raise)


@lru_cache(maxsize=256)
def _suppresses(node: ast.With | ast.AsyncWith, full_name: Callable[[ast.expr], str]) -> bool:
    """Return whether it is a ``with contextlib.suppress(ImportError)``, or something of that name."""
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    suppressing = [call for call in calls if full_name(call.func).endswith("suppress")]
    return any(_catches(error) for call in suppressing for error in call.args)
