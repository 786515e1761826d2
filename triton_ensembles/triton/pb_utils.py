"""The names of Triton's module pb_utils, as the stub package says them, which editors and type checkers read."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_TYPES = Path(__file__).parents[2] / "triton_python_backend_utils-stubs" / "__init__.pyi"


class PbUtils(NamedTuple):
    """Names of the module, in all releases or since one."""

    since: dict[str, str]  # its names, each with the release that brought it, "" for all
    members: dict[str, frozenset[str]]  # the names in each class, without those of Python
    keywords: dict[str, frozenset[str]]  # the arguments of each class's constructor that have a name


@cache
def pb_utils() -> PbUtils:
    """Return the names of the stub package, and the modules that NVIDIA's file imports."""
    text = _TYPES.read_text("utf-8")
    of_constants = dict(re.findall(r"^(\w+): .*# since (\d\d\.\d\d)", text, re.MULTILINE))
    found = PbUtils(dict.fromkeys(("json", "np", "shared_memory", "struct"), ""), {}, {})
    for node in ast.parse(text).body:
        name = _name(node)
        about = ast.get_docstring(node) if isinstance(node, ast.ClassDef | ast.FunctionDef) else None
        since = re.match(r"Since (\d\d\.\d\d)", about or "")
        if name and not name.startswith("_"):
            found.since[name] = since[1] if since else of_constants.get(name, "")
        if isinstance(node, ast.ClassDef):
            members = {member for part in node.body if (member := _name(part)) and not member.startswith("__")}
            makers = (part.args for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__")
            arguments = [argument for maker in makers for argument in (*maker.args, *maker.kwonlyargs)]
            found.members[name] = frozenset(members)
            found.keywords[name] = frozenset(argument.arg for argument in arguments) - {"self"}
    return found


def _name(node: ast.stmt) -> str:
    """Return the name that a line of the package is about, "" for an import or an alias of types."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    return node.target.id if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else ""
