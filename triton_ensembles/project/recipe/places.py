"""Where recipes lie, and which line of one names what. Nothing here needs the schema, which takes long to import."""

import re
from collections.abc import Iterator
from pathlib import Path

RECIPE = "ensemble.toml"
LOCKS = "locks"
"""The folder beside the recipe with the locks of its environments."""
_PART = re.compile(r"[\w-]")  # a letter of a longer name


def find_ensembles(root: Path) -> Iterator[Path]:
    """The folders in ``root`` that contain a recipe, sorted by name."""
    for path in sorted(root.glob(f"*/{RECIPE}")):
        yield path.parent


def line_naming(text: str, names: list[str]) -> int | None:
    """The first line that contains the last of ``names`` that the text contains; TOML parsers keep no positions."""
    for name in reversed(names):
        at = text.find(name)
        while name and at >= 0:
            end = at + len(name)
            if not (_PART.match(text[at - 1 : at]) or _PART.match(text[end : end + 1])):
                return text.count("\n", 0, at) + 1
            at = text.find(name, end)
    return None
