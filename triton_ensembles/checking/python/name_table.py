"""The names that modules have, by version: tables of lines ``MODULE FIRST-LAST NAME …``, whose heads say where from."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

DTYPES = "dtype"
"""In the place of a module of numpy: its dtypes as texts."""
Version = tuple[int, ...]
Span = tuple[Version, Version]


class NameTable:
    """The table in the file ``name`` beside this one, which covers the minor versions from ``oldest`` to ``newest``; a
    span without a last version reaches to the newest."""

    def __init__(self, name: str, oldest: Version, newest: Version) -> None:
        self._path = Path(__file__).with_name(name)
        self.oldest = oldest
        self.newest = newest

    def version(self, text: str) -> Version | None:
        """``1.26.4`` as (1, 26); None for one that the table does not know."""
        match = re.match(r"(\d+)\.(\d+)", text)
        version = (int(match[1]), int(match[2])) if match else None
        return version if version and self.oldest <= version <= self.newest else None

    @cached_property
    def modules(self) -> frozenset[str]:
        """``numpy``, ``numpy.random`` …"""
        return frozenset(self._names) - {DTYPES}

    def spans(self, module: str, name: str) -> tuple[Span, ...]:
        """From which version to which ``module`` has ``name``: () when no version has it."""
        return tuple(self._names[module].get(name, ()))

    def has(self, module: str, name: str, version: Version) -> bool:
        return any(first <= version <= last for first, last in self.spans(module, name))

    def names(self, module: str, version: Version) -> Iterator[str]:
        """The names that ``module`` has in this version."""
        return (name for name in self._names[module] if self.has(module, name, version))

    @cached_property
    def _names(self) -> dict[str, dict[str, list[Span]]]:
        spans: dict[str, dict[str, list[Span]]] = {}
        for line in self._path.read_text(encoding="utf-8").splitlines():
            module, span, *names = line.split()
            if module == "#":
                continue
            first, last = (self.version(edge) for edge in span.split("-"))
            for name in names:
                spans.setdefault(module, {}).setdefault(name, []).append((first or self.oldest, last or self.newest))
        return spans


NUMPY = NameTable("numpy_names.txt", (1, 17), (2, 4))
STANDARD = NameTable("standard_names.txt", (3, 8), (3, 13))
