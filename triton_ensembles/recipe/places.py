"""Where recipes lie, and which line of one names what. Nothing here needs the schema, which takes long to import."""

import re
from collections.abc import Iterator
from pathlib import Path

RECIPE = "ensemble.toml"


def find_ensembles(root: Path) -> Iterator[Path]:
    """The folders in ``root`` that contain a recipe, sorted by name."""
    for path in sorted(root.glob(f"*/{RECIPE}")):
        yield path.parent


def line_naming(text: str, names: list[str]) -> int | None:
    """The first line that contains the last of ``names`` that the text contains; TOML parsers keep no positions."""
    for name in reversed(names):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line):
                return number
    return None
