"""Where recipes lie, and which line of one names what. Nothing here needs the schema, which takes long to import."""

import re
from collections.abc import Iterator
from pathlib import Path

RECIPE = "ensemble.toml"
LOCKS = "locks"
"""The folder beside the recipe with the locks of its environments."""
LOCK_LINE = re.compile(
    r"(?P<pip>[A-Za-z0-9][A-Za-z0-9._-]*)(==\S+| @ \S+) --hash=sha256:[0-9a-f]{64}"
    r"|conda (?P<conda>[A-Za-z0-9_][A-Za-z0-9_.-]*) ==\S+ \S+"
)
"""A line of a lock: an exact package."""
LONGEST_LOCK = 1 << 20
"""Bytes of a lock."""
_PART, _PART_OF_PATH = re.compile(r"[\w-]"), re.compile(r"[\w./-]")  # a letter of a longer name, or of a path


def find_ensembles(root: Path) -> Iterator[Path]:
    """The folders in ``root`` that contain a recipe, sorted by name."""
    for path in sorted(root.glob(f"*/{RECIPE}")):
        yield path.parent


def line_naming(text: str, names: list[str]) -> int | None:
    """The first line that contains the last of ``names`` that the text contains, best where no path goes on with it;
    TOML parsers keep no positions."""
    for name, part in ((name, part) for name in reversed(names) for part in (_PART_OF_PATH, _PART)):
        at = text.find(name)
        while name and at >= 0:
            end = at + len(name)
            if not (_PART.match(text[at - 1 : at]) or part.match(text[end : end + 1])):
                return text.count("\n", 0, at) + 1
            at = text.find(name, end)
    return None
