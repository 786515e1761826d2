"""The packages that a Python file imports, and whether it can do without them."""

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from triton_ensembles.checking.python.nodes import Function, Try, With

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


def imports_of(module: ast.Module, full_name: Callable[[ast.expr], str]) -> Iterator[Import]:
    """Yield what the import statements of a file name."""
    here = Import("", module)
    waiting: list[tuple[ast.AST, Import]] = [(node, here) for node in reversed(module.body)]
    while waiting:
        node, here = waiting.pop()
        for package in _packages(node):
            yield replace(here, package=package, node=node)
        if isinstance(node, Try):
            waiting += reversed(list(_of_try(node, here, full_name)))
            continue
        if isinstance(node, ast.ClassDef) and node.name == _MODEL:
            waiting += reversed([(part, replace(here, later=later)) for part, later in _with_initialize(node)])
            continue
        if isinstance(node, ast.If) or (isinstance(node, With) and _suppresses(node, full_name)):
            here = replace(here, certain=False)
        elif isinstance(node, Function):
            own = "" if node.decorator_list else node.name
            here = replace(here, later=True, function=here.function if here.later else own)
        if not isinstance(node, ast.expr):
            waiting += reversed([(child, here) for child in ast.iter_child_nodes(node)])


def _packages(node: ast.AST) -> list[str]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [node.module]
    return [package for name in names if (package := name.partition(".")[0])]


def _with_initialize(model: ast.ClassDef) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the statements of the class and of ``initialize``, without which Triton does not load the model.

    With each comes whether it runs later, as what follows a ``return`` of ``initialize`` may.
    """
    for statement in model.body:
        if not (isinstance(statement, Function) and statement.name == "initialize"):
            yield statement, False
            continue
        later = False
        for part in statement.body:
            yield part, later
            later = later or any(isinstance(node, ast.Return) for node in ast.walk(part))


def _of_try(node: Try, here: Import, full_name: Callable[[ast.expr], str]) -> Iterator[tuple[ast.AST, Import]]:
    catching = [handler for handler in node.handlers if _catches(handler.type) and not _ends(handler, full_name)]
    unsure = replace(here, certain=False)
    for statement in (*node.body, *node.orelse):
        yield statement, unsure if catching else here
    tried = next((package for statement in node.body for package in _packages(statement)), "")
    for handler in node.handlers:
        is_fallback = handler in catching and tried
        for statement in handler.body:
            yield statement, replace(here, instead_of=tried) if is_fallback else unsure
    for statement in node.finalbody:
        yield statement, here


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


def _suppresses(node: ast.With | ast.AsyncWith, full_name: Callable[[ast.expr], str]) -> bool:
    """Return whether it is a ``with contextlib.suppress(ImportError)``, or something of that name."""
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    suppressing = [call for call in calls if full_name(call.func).endswith("suppress")]
    return any(_catches(error) for call in suppressing for error in call.args)
