"""The files of a repository as the checker's rules see them: names, kinds and sizes, and the content of small texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

LARGEST_CONFIG = 1 << 20  # bytes: Triton reads any length, and a config may list thousands of tensors
_LARGEST_TEXT = 1 << 19  # bytes: more than any model.py or list of labels needs; parsed it is many times that

CONFIG_SUFFIX = ".pbtxt"
_TEXT_SUFFIXES = (".py", ".toml", ".json", ".txt", ".pth", ".cfg", ".yml", ".yaml")
_TEXT_NAMES = ("activate", "METADATA", "RECORD", "WHEEL")


class Kind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symbolic link"
    HARDLINK = "hard link"
    OTHER = "device or pipe"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder or link."""

    path: str  # relative to the repository, with `/` and without `.` or `..`
    kind: Kind
    size: int = 0  # bytes; 0 unless this is a file (or a link to one on disk)
    written: str = ""  # the name as the archive has it (`./a`, `/etc/passwd`, `../x`); `path` for folders on disk
    target: str = ""  # where a link points to
    data: bytes | None = None  # the content of the small texts that rules read (see is_text), otherwise None
    leads_to_folder: bool = False  # true for a symbolic link (on disk) that resolves to a folder
    mode: int = 0o644  # permission bits
    summary: object = None  # what a reader of file formats said about the content, see read_archive

    @property
    def is_folder(self) -> bool:
        return self.kind is Kind.FOLDER or self.leads_to_folder

    @property
    def text(self) -> str | None:
        """The content as text, with invalid UTF-8 replaced; None when it was not kept."""
        return None if self.data is None else self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Problem:
    """Why a repository could not be read, or not completely."""

    rule: str  # the id of the checker's rule that reports it
    path: str  # of the file it is about; "" for the whole repository
    message: str
    effect: str = ""  # what the server does then; "" for what the rule says


# Problems after which the rest was not read.
_CUT_SHORT = ("archive-unreadable", "archive-truncated", "archive-bomb", "repository-too-large")


class Tree:
    """All entries below one folder or in one archive: ``members`` are in the order of the archive, with unsafe names
    and repetitions; ``entries`` are those that would exist after unpacking, by path, with folders that an archive does
    not list. ``problems`` say what could not be read; ``complete``: all was. ``nested`` reads an archive inside
    (``step/env.tar.gz``) as a tree; None if there is none at that path."""

    def __init__(
        self,
        members: Iterable[Entry],
        problems: Iterable[Problem] = (),
        nested: Callable[[str], Tree | None] = lambda _: None,
    ) -> None:
        self.members = tuple(members)
        self.problems = tuple(problems)
        self.nested = nested
        self.complete = not any(problem.rule in _CUT_SHORT for problem in self.problems)
        self.entries = {entry.path: entry for entry in self.members if entry.path}
        for path in list(self.entries):  # archives need not name the folders of their files
            parent = path
            while (parent := parent.rpartition("/")[0]) and parent not in self.entries:
                self.entries[parent] = Entry(parent, Kind.FOLDER, written=parent)
        self._children: dict[str, list[str]] = {}
        for path in sorted(self.entries):
            folder, _, name = path.rpartition("/")
            self._children.setdefault(folder, []).append(name)

    def with_texts(self, texts: Mapping[str, str]) -> Tree:
        """The tree as it would be if the files at these paths, of which some may be new, had these texts."""
        new = {path: text.encode("utf-8", "replace") for path, text in texts.items()}
        kept = [entry for entry in self.members if entry.path not in new]
        for path, data in new.items():
            entry = replace(self.entries.get(path) or Entry(path, Kind.FILE, written=path), size=len(data))
            kept.append(replace(entry, data=data if is_text(path, len(data)) else None))
        return Tree(kept, self.problems, self.nested)

    def children(self, folder: str = "") -> list[str]:
        """Names in ``folder`` ("" is the root), sorted."""
        return self._children.get(folder, [])

    def folders(self, folder: str = "") -> list[str]:
        """Names of the folders in ``folder``, sorted."""
        return [name for name in self.children(folder) if self.is_folder(join(folder, name))]

    def get(self, path: str) -> Entry | None:
        return self.entries.get(path)

    def below(self, folder: str) -> Iterator[Entry]:
        """Every entry in ``folder`` and in the folders in it, in alphabetical order."""
        waiting = [folder]
        while waiting:
            path = waiting.pop()
            if path != folder:
                yield self.entries[path]
            waiting += [join(path, name) for name in reversed(self.children(path))]

    def is_folder(self, path: str) -> bool:
        entry = self.entries.get(path)
        return entry is not None and entry.is_folder


def join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def is_text(path: str, size: int) -> bool:
    """Return whether rules read this file, so that its content is kept. ``size`` in bytes."""
    name = path.rpartition("/")[2]
    if name.endswith(CONFIG_SUFFIX):
        return size <= LARGEST_CONFIG
    return size <= _LARGEST_TEXT and (name.endswith(_TEXT_SUFFIXES) or name in _TEXT_NAMES)


def is_archive(path: str) -> bool:
    return path.endswith((".tar.gz", ".tgz"))
