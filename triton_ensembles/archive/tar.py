"""A .tar.gz as a :class:`Tree`, read in one pass and never unpacked to disk."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.gzip_stream import GzipStream
from triton_ensembles.archive.tar_stream import BadHeaderError, Member, TarStream
from triton_ensembles.archive.tree import CONFIG_SUFFIX, Entry, Kind, Problem, Tree, is_archive, is_text

_DEEPEST = 1  # env.tar.gz inside an archive is read, an archive inside env.tar.gz is not
_KINDS = {b"0": Kind.FILE, b"1": Kind.HARDLINK, b"2": Kind.SYMLINK, b"5": Kind.FOLDER}
_TOO_LARGE = ("archive-bomb", "repository-too-large")
_LONGEST_PATH, _LONGEST_NAME = 4095, 255  # bytes that Linux takes
_MOST_PARTS = 200  # of a path: Python's own functions for folders run out of stack at a thousand


Summarize = Callable[[str, int, IO[bytes]], object]
"""Is given the path of a file, its size in bytes, and its content, which it may read forward."""


def read_archive(path: Path, summarize: Summarize | None = None, *, plain: bool = False) -> Tree:
    """The entries of the archive at ``path``; a part that cannot be read becomes a :class:`Problem`. ``summarize`` sees
    each file that is not kept as text, once, while it passes by; what it returns is the entry's ``summary``. ``plain``:
    it need not be compressed, as libarchive takes an environment (measured on 2.51.0)."""
    try:
        if not path.is_file():  # nothing ever comes from a pipe, and /dev/zero never ends
            return Tree((), [Problem("archive-unreadable", "", "this is not a file")])
        with path.open("rb") as file:
            return _Reader(Budget(), summarize).tree(file, plain=plain)
    except OSError as error:
        return Tree((), [Problem("archive-unreadable", "", f"this cannot be read: {error.strerror or error}")])


def safe_path(name: str) -> str:
    """``./a//b/`` as ``a/b``; "" for the root itself, for a name that leads outside, and for one that no file has."""
    if name.startswith("/") or "\0" in name or len(name) > _LONGEST_PATH:
        return ""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    longest = max(map(len, parts), default=0)
    return "" if ".." in parts or longest > _LONGEST_NAME or len(parts) > _MOST_PARTS else "/".join(parts)


def unsafe_because(name: str) -> str:
    """Why :func:`safe_path` has no path for ``name``."""
    shown = name if len(name) <= 200 else f"{name[:200]}…"
    if name.startswith("/") or ".." in name.split("/"):
        return f"'{shown}' leads out of the model's folder"
    if name.count("/") >= _MOST_PARTS:
        return f"'{shown}' lies in more than {_MOST_PARTS} folders"
    return f"'{shown}' is not a valid file name"


class _Reader:
    """Reads an archive and those inside it, which share a budget."""

    def __init__(self, budget: Budget, summarize: Summarize | None) -> None:
        self._budget, self._summarize = budget, summarize

    def tree(self, source: io.BufferedReader, depth: int = 0, *, plain: bool = False) -> Tree:
        members: list[Entry] = []
        problems: list[Problem] = []
        inner: dict[str, Tree] = {}
        try:
            is_tar = plain and source.peek(512)[257:262] == b"ustar"
            data = source if is_tar else GzipStream(source, self._budget, inside=depth > 0)
            stream = TarStream(data, self._budget)
            self._read(stream, members, inner, depth)
            stream.drain()
        except BadHeaderError as error:
            message = error.message if members else "this is not a gzip-compressed tar archive"
            problems.append(Problem(error.rule if members else "archive-unreadable", "", message))
        except ArchiveError as error:
            problems.append(Problem(error.rule, "", error.message, error.effect))
            if error.rule in _TOO_LARGE:  # nothing can be concluded from a part
                return Tree((), problems)
        return Tree(members, problems, inner.get)

    def _read(self, stream: TarStream, members: list[Entry], inner: dict[str, Tree], depth: int) -> None:
        folders: set[str] = set()
        for member in stream:
            path = safe_path(member.name)
            self._budget.take_folders(path, folders)
            data = summary = None
            if member.is_file and path:
                is_config = path.endswith(CONFIG_SUFFIX)
                if is_text(path, member.size) and self._budget.take_text(member.size, is_config=is_config):
                    data = stream.content()
                    if is_config:
                        self._budget.take_config(data)
                elif is_archive(path) and depth < _DEEPEST:
                    inner[path] = self.tree(io.BufferedReader(_Content(stream)), depth + 1, plain=True)
                elif self._summarize and not depth:
                    summary = self._summarize(path, member.size, io.BufferedReader(_Content(stream)))
            members.append(_entry(path, member, data, summary))


class _Content(io.RawIOBase):
    """The current member of a stream as a file that is read forward."""

    def __init__(self, stream: TarStream) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _entry(path: str, member: Member, data: bytes | None, summary: object) -> Entry:
    kind = _KINDS.get(member.type, Kind.OTHER)
    size = member.size if kind is Kind.FILE else 0
    target = member.target if kind in (Kind.SYMLINK, Kind.HARDLINK) else ""
    written = path if member.name == path else member.name  # one string in memory
    return Entry(path, kind, size, written, target, data, mode=member.mode, summary=summary)
