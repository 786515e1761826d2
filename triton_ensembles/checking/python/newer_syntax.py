"""Syntax of a Python file that not every Python of an image has."""

import ast
import re
import sys
from collections.abc import Iterator

from triton_ensembles.checking.python.source import PythonFile

Version = tuple[int, ...]
# By the names of their nodes, of which this Python may lack some.
_NODES: dict[str, tuple[Version, str]] = {
    "Match": ((3, 10), "match"),
    "TryStar": ((3, 11), "except*"),
    "TypeAlias": ((3, 12), "type X = …"),
}
_WITH_BRACKETS = re.compile(rb"\bwith\s*\(")


def syntax_since(file: PythonFile, python: Version) -> Iterator[tuple[ast.AST, Version, str]]:
    """The nodes that ``python`` cannot parse, the Python that brought such syntax, and its name."""
    for node in file.nodes if python < sys.version_info[:2] else ():
        since, name = _since(node)
        if since > python:
            yield node, since, name
    if python < (3, 9) and _WITH_BRACKETS.search(file.data):
        try:
            ast.parse(file.data, feature_version=(3, 8))
        except SyntaxError as error:
            if "context managers" in error.msg:
                yield ast.Pass(lineno=error.lineno or 1, col_offset=0), (3, 9), "with (…, …):"


def _since(node: ast.AST) -> tuple[Version, str]:
    if known := _NODES.get(type(node).__name__):
        return known
    if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Starred):
        return (3, 11), "*args: *T"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        first = node.slice.elts[0] if node.slice.elts else None
        is_bare = first and (first.lineno, first.col_offset) == (node.slice.lineno, node.slice.col_offset)
        if is_bare and any(isinstance(element, ast.Starred) for element in node.slice.elts):
            return (3, 11), "x[*y]"
    return ((3, 12), "def f[T]") if getattr(node, "type_params", ()) else ((), "")
