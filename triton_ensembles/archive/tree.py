"""The files of a repository as the rules see them: names, kinds and sizes of all, the content of a few small texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath

LARGEST_TEXT = 256 * 1024  # bytes; larger than any config, model.py or list of labels ought to be
MOST_TEXT = 64 * 1024 * 1024  # bytes of text kept for one repository
MOST_ENTRIES = 200_000

_TEXT_SUFFIXES = (".pbtxt", ".py", ".toml", ".json", ".txt", ".pth", ".cfg", ".yml", ".yaml")
_TEXT_NAMES = ("activate", "METADATA", "RECORD", "WHEEL")


class Kind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symbolic link"
    HARDLINK = "hard link"
    OTHER = "device or pipe"


@dataclass(frozen=True)
class Entry:
    """One file, folder or link.

    Args:
        path: relative to the repository, with ``/``, no ``.`` or ``..`` in it.
        written: the name as the archive has it (``./a``, ``/etc/passwd``, ``../x``); ``path`` for folders on disk.
        size: bytes; 0 for what is no file.
        target: where a link points to.
        data: the content, for the small texts that rules read (see :func:`is_text`), else None.
        leads_to_folder: true for a symbolic link (on disk) that resolves to a folder.
    """

    path: str
    kind: Kind
    size: int = 0
    written: str = ""
    target: str = ""
    data: bytes | None = None
    leads_to_folder: bool = False
    mode: int = 0o644

    @property
    def is_folder(self) -> bool:
        return self.kind is Kind.FOLDER or self.leads_to_folder

    @property
    def text(self) -> str | None:
        """The content as text, what is not UTF-8 replaced; None when it was not kept."""
        return None if self.data is None else self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Problem:
    """Why a repository could not be read, or not to its end; ``rule`` is the id of the rule that stands for it."""

    rule: str
    path: str
    message: str
    effect: str = ""
    cure: str = ""


def _no_archives(path: str) -> Tree | None:  # noqa: ARG001
    return None


@dataclass(frozen=True)
class Tree:
    """All entries below one folder or in one archive.

    ``members`` has them in the order of the archive, unsafe names and repetitions included; ``entries`` has those that
    would be there after unpacking, by path. ``nested`` reads an archive inside (``step/env.tar.gz``) as a tree.
    """

    entries: Mapping[str, Entry]
    members: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = ()
    nested: Callable[[str], Tree | None] = field(default=_no_archives, repr=False)
    _children: Mapping[str, list[str]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        members: Iterable[Entry],
        problems: Iterable[Problem] = (),
        nested: Callable[[str], Tree | None] = _no_archives,
    ) -> Tree:
        listed = tuple(members)
        entries = {entry.path: entry for entry in listed if entry.path}
        for entry in list(entries.values()):  # archives need not name the folders of their files
            for parent in PurePosixPath(entry.path).parents:
                if str(parent) == "." or str(parent) in entries:
                    break
                entries[str(parent)] = Entry(str(parent), Kind.FOLDER, written=str(parent))
        children: dict[str, list[str]] = {}
        for path in sorted(entries):
            folder, _, name = path.rpartition("/")
            children.setdefault(folder, []).append(name)
        return cls(entries, listed, tuple(problems), nested, children)

    def children(self, folder: str = "") -> list[str]:
        """Names in ``folder`` ("" is the root), sorted."""
        return self._children.get(folder, [])

    def folders(self, folder: str = "") -> list[str]:
        """Names of the folders in ``folder``, sorted."""
        return [name for name in self.children(folder) if self.is_folder(join(folder, name))]

    def get(self, path: str) -> Entry | None:
        return self.entries.get(path)

    def is_folder(self, path: str) -> bool:
        entry = self.entries.get(path)
        return entry is not None and entry.is_folder

    def walk(self, folder: str = "") -> Iterator[Entry]:
        """Every entry below ``folder``, in order of path."""
        for name in self.children(folder):
            path = join(folder, name)
            yield self.entries[path]
            yield from self.walk(path)


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def is_text(path: str, size: int) -> bool:
    """Whether rules read this file, so that its content is kept."""
    name = path.rpartition("/")[2]
    return size <= LARGEST_TEXT and (name.endswith(_TEXT_SUFFIXES) or name in _TEXT_NAMES)


def is_archive(path: str) -> bool:
    return path.endswith((".tar.gz", ".tgz"))
