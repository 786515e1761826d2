"""Names that a file expects to be missing at times: then no rule reports it."""

import ast
from functools import lru_cache

from triton_ensembles.checking.python.flow import flow_of
from triton_ensembles.checking.python.nodes import Try, With
from triton_ensembles.checking.python.source import UTILS, PythonFile

_ASKING = frozenset({"hasattr", "isinstance", "getattr", "type", "callable"})


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
    for parent, child in file.scopes.above(node):
        if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.BoolOp):
            tests = parent.values if isinstance(parent, ast.BoolOp) else [parent.test]
            inner = (part for test in tests if test is not child for part in ast.walk(test))
            if any(isinstance(part, ast.Name) and part.id in _ASKING for part in inner):
                return True
        if isinstance(parent, With) and flow_of(file).suppresses(parent):
            return True
        if isinstance(parent, Try) and file.scopes.in_body(child, parent):
            errors = [handler.type for handler in parent.handlers]
            names = {getattr(part, "id", "") for error in errors if error for part in ast.walk(error)}
            if None in errors or names & {"AttributeError", "TypeError"}:
                return True
    return False
