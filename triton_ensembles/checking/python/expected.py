"""Names that a file expects to be missing at times: then no rule reports it."""

import ast
from functools import lru_cache

from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.source import UTILS, PythonFile

_ASKING = frozenset({"hasattr", "isinstance", "getattr", "type", "callable"})
_ERRORS = frozenset({"AttributeError", "TypeError"})


@lru_cache(maxsize=128)
def is_guarded(file: PythonFile) -> bool:
    """Return whether the file looks in pb_utils for names, puts some into it, or binds its name to something else."""
    names = [name for name, full in file.names.items() if full == UTILS]
    if any(not isinstance(node, ast.alias) for name in names for node in file.scopes.everywhere(name)):
        return True
    changed = (node.value for nodes in file.scopes.attributes.values() for node in nodes)
    asked = (call.args[0] for call, name in file.calls if name in ("hasattr", "setattr") and call.args)
    return any(file.full_name(node).startswith(UTILS) for node in (*changed, *asked))


def is_expected(file: PythonFile, node: ast.AST) -> bool:
    """Return whether the file asks first what the object has, or catches the error."""
    if any(error is None or _names(error) & _ERRORS for error in flow_of(file).caught(node)):
        return True
    for parent, child in file.scopes.above(node):
        if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.BoolOp):
            tests = parent.values if isinstance(parent, ast.BoolOp) else [parent.test]
            if any(_names(test) & _ASKING for test in tests if test is not child):
                return True
    return False


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
