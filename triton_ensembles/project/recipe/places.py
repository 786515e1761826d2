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


def find_ensembles(root: Path) -> Iterator[Path]:
    """The folders in ``root`` that contain a recipe, sorted by name."""
    for path in sorted(root.glob(f"*/{RECIPE}")):
        yield path.parent
