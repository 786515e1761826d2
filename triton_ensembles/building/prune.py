"""Files of the store and the downloads that no archive needs, and their removal."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.building.places import Places
from triton_ensembles.ground.files import files_in, read_json, remove

_DAY = 24 * 3600.0


@dataclass(frozen=True)
class Unneeded:
    """A file or folder that no archive needs. ``size``: the bytes that its removal frees: files that a staged
    repository links to are still there."""

    path: Path
    size: int


def find_unneeded(places: Places, days: float | None = None) -> list[Unneeded]:
    """Entries of the store and downloads that no archive in dist/ was made with, or none that is at most ``days`` old,
    the largest first. The caller holds the lock of :meth:`Places.building` alone, so that nothing is being built."""
    needed = set(_needed(places, days))
    unneeded = [
        Unneeded(path, _freed(path))
        for folder in (places.store, places.downloads)
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if path.suffix != ".lock" and path.name not in needed
    ]
    return sorted(unneeded, key=lambda entry: entry.size, reverse=True)


def prune(unneeded: list[Unneeded]) -> None:
    """Remove them, with their locks."""
    for item in unneeded:
        remove(item.path)
        remove(item.path.with_name(f"{item.path.name}.lock"))


def _needed(places: Places, days: float | None) -> Iterator[str]:
    """The names, in the store and the downloads, of what the archives were made with."""
    oldest = 0.0 if days is None else time.time() - days * _DAY
    for state in (*places.build.glob("*/*.state.json"), *places.build.glob("*/*/*.state.json")):
        form = state.parent.relative_to(places.build).as_posix()
        archive = places.archive(form, state.name.removesuffix(".state.json"))
        try:
            if archive.stat().st_mtime >= oldest:
                yield from map(str, read_json(state)["made_with"])
        except (OSError, ValueError, LookupError, TypeError):  # there is no archive, or the next build makes it again
            continue


def _freed(path: Path) -> int:
    files = files_in(path).values() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.stat().st_nlink == 1)
