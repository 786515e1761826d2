"""How much Python the checker reads of one repository: short files can take all memory, or minutes.

Tokens bound what the parser makes, depths what the rules do, which look at what is around a node.
"""

import ast
import re
from dataclasses import dataclass

MOST_TOKENS = 250_000  # about 1 MiB of usual code
_MOST_BYTES = 8 << 20  # counting their tokens takes time as well
_MOST_DEPTHS = 4_000_000  # of all nodes together; in usual code one is 12 deep
_MOST_FORMATTED = 4 << 30  # braces times bytes: Python before 3.12 looks for each part of an f-string from its start
_TOKEN = re.compile(rb"\w+|[^\w\s]")
_DOTTED = re.compile(rb"\b(?:\w+[\s\\]*\.[\s\\]*){100}")  # for a long one in an import, the parser takes gigabytes
_FORMATTED = re.compile(rb"[fF][rR]?['\"]")


@dataclass
class PythonBudget:
    """The bytes, tokens, depths and formatted texts that may still be read."""

    size: int = _MOST_BYTES
    tokens: int = MOST_TOKENS
    depths: int = _MOST_DEPTHS
    formatted: int = _MOST_FORMATTED

    def may_parse(self, data: bytes) -> bool:
        """Return whether a file may be parsed, which is then counted."""
        self.size -= len(data)
        if self.size < 0:
            return False
        tokens = len(_TOKEN.findall(data))
        formatted = data.count(b"{") * len(data) if _FORMATTED.search(data) else 0
        if tokens > self.tokens or formatted > self.formatted or _DOTTED.search(data):
            return False
        self.tokens -= tokens
        self.formatted -= formatted
        return True

    def nodes(self, module: ast.Module) -> tuple[ast.AST, ...] | None:
        """Return all nodes, from the outer to the inner ones; None for too many, or nested too deeply."""
        nodes: list[ast.AST] = []
        level: list[ast.AST] = [module]
        depths = depth = 0
        while level:
            nodes += level
            depth += 1
            depths += depth * len(level)
            if depths > self.depths:
                return None
            level = [child for node in level for child in ast.iter_child_nodes(node)]
        self.depths -= depths
        return tuple(nodes)
