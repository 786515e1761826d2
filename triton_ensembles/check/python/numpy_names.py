"""Which names numpy has, by its version: numpy_names.txt, whose head says where it is from."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("numpy_names.txt")
DTYPES = "dtype"  # in the place of a module: dtypes as texts
_NEWEST = (2, 4)
_OLDEST = (1, 17)
Version = tuple[int, ...]


def numpy_version(text: str) -> Version | None:
    """``1.26.4`` as (1, 26); None for one that the table does not know."""
    match = re.match(r"(\d+)\.(\d+)", text)
    found = (int(match[1]), int(match[2])) if match else None
    return found if found and _OLDEST <= found <= _NEWEST else None


def modules() -> frozenset[str]:
    """The modules in the table: ``numpy``, ``numpy.random`` …"""
    return frozenset(_names()) - {DTYPES}


def spans(module: str, name: str) -> tuple[tuple[Version, Version], ...]:
    """From which version to which ``module`` has ``name``: () when no version has it."""
    return tuple(_names()[module].get(name, ()))


def has(module: str, name: str, version: Version) -> bool:
    return any(first <= version <= last for first, last in spans(module, name))


def current(module: str) -> Iterator[str]:
    """The names that the newest version has."""
    return (name for name in _names()[module] if has(module, name, _NEWEST))


@cache
def _names() -> dict[str, dict[str, list[tuple[Version, Version]]]]:
    found: dict[str, dict[str, list[tuple[Version, Version]]]] = {}
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        module, span, *listed = line.split()
        if module == "#":
            continue
        first, last = (numpy_version(each) for each in span.split("-"))
        for name in listed:
            found.setdefault(module, {}).setdefault(name, []).append((first or _OLDEST, last or _NEWEST))
    return found
