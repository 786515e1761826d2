"""A .tar.gz as a :class:`Tree`, read in one pass and never unpacked to disk."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO
from weakref import WeakValueDictionary

from triton_ensembles.archive.gzip_stream import ArchiveError, GzipStream
from triton_ensembles.archive.sparse import SparseHeader
from triton_ensembles.archive.tree import (
    CONFIG_SUFFIX,
    MOST_ENTRIES,
    Entry,
    Kind,
    Problem,
    Tree,
    is_archive,
    is_text,
    text_budgets,
)

_CHUNK = 1 << 20
# tarfile copies the rest of its buffer at every read: with one mebibyte that takes most of the time.
TAR_BUFFER = 1 << 18
_LARGEST_HEADER = 1 << 20  # long names and pax records, which tarfile reads into memory
_DEEPEST = 1  # env.tar.gz inside an archive is read, an archive inside env.tar.gz is not
# Many archives of an endpoint hold the same environment: up to this size it is recognized, read once and shared.
_LARGEST_SHARED = 128 << 20
_SHARED: WeakValueDictionary[bytes, Tree] = WeakValueDictionary()
_READ_WHOLE = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_KINDS = {tarfile.SYMTYPE: Kind.SYMLINK, tarfile.LNKTYPE: Kind.HARDLINK, tarfile.DIRTYPE: Kind.FOLDER}


Summarize = Callable[[str, int, IO[bytes]], object]
"""Is given the path of a file, its size in bytes, and its content, which it may read forward."""


class BadHeaderError(ArchiveError):
    """There is no valid header where the header of a member belongs."""


class StrictHeader(SparseHeader):
    """Refuses broken headers, which tarfile takes for the end of the archive, and pax headers of any size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> StrictHeader:
        try:
            return super().frombuf(buf, encoding, errors)
        except (tarfile.EOFHeaderError, tarfile.EmptyHeaderError):  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise BadHeaderError("archive-truncated", f"the tar data is damaged or breaks off ({error})") from None

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _READ_WHOLE and self.size > _LARGEST_HEADER:
            raise ArchiveError("archive-bomb", f"a header of the tar data claims to be {self.size} bytes long")
        return super()._proc_member(archive)


def read_archive(path: Path, summarize: Summarize | None = None) -> Tree:
    """The entries of the archive at ``path``; a part that cannot be read becomes a :class:`Problem`.

    ``summarize`` sees each file that is not kept as text, once, while it passes by; what it returns is the entry's
    ``summary``.
    """
    try:
        with path.open("rb") as file:
            return _read_stream(file, summarize=summarize)
    except OSError as error:
        return Tree((), [Problem("archive-unreadable", "", f"this cannot be read: {error.strerror or error}")])


def _read_stream(source: IO[bytes], depth: int = 0, summarize: Summarize | None = None) -> Tree:
    members: list[Entry] = []
    problems: list[Problem] = []
    inner: dict[str, Tree] = {}
    stream = GzipStream(source)
    try:
        _read(stream, members, inner, depth, summarize)
        while stream.read(_CHUNK):  # to the end, where gzip has its checksum
            pass
    except BadHeaderError as error:
        message = error.message if members else "this is not a gzip-compressed tar archive"
        problems.append(Problem(error.rule if members else "archive-unreadable", "", message))
    except ArchiveError as error:
        problems.append(Problem(error.rule, "", error.message))
    except tarfile.TarError as error:
        rule = "archive-truncated" if members else "archive-unreadable"
        problems.append(Problem(rule, "", f"this is not a gzip-compressed tar archive ({error})"))
    except (ValueError, OverflowError, EOFError, OSError) as error:  # tarfile raises these for crafted headers
        problems.append(Problem("archive-truncated", "", f"the tar data is damaged ({error})"))
    return Tree(members, problems, inner.get)


def _read(
    stream: GzipStream, members: list[Entry], inner: dict[str, Tree], depth: int, summarize: Summarize | None
) -> None:
    budgets = text_budgets()
    archive = tarfile.open(fileobj=stream, mode="r|", bufsize=TAR_BUFFER, tarinfo=StrictHeader, errorlevel=2)  # noqa: SIM115
    for item in archive:
        if len(members) >= MOST_ENTRIES:
            raise ArchiveError("archive-bomb", f"it has more than {MOST_ENTRIES} members")
        path = safe_path(item.name)
        kind = Kind.FILE if item.isreg() else _KINDS.get(item.type, Kind.OTHER)
        data = summary = None
        is_config = path.endswith(CONFIG_SUFFIX)
        if kind is Kind.FILE and path and item.size <= budgets[is_config] and is_text(path, item.size):
            file = archive.extractfile(item)
            data = file.read() if file else None
            budgets[is_config] -= len(data or b"")
        elif kind is Kind.FILE and is_archive(path) and depth < _DEEPEST:
            file = archive.extractfile(item)
            if file:
                inner[path] = _nested(file, item.size, depth + 1)
        elif kind is Kind.FILE and path and summarize and (file := archive.extractfile(item)):
            summary = summarize(path, item.size, file)
        target = item.linkname if kind in (Kind.SYMLINK, Kind.HARDLINK) else ""
        members.append(
            Entry(
                path,
                kind,
                item.size if kind is Kind.FILE else 0,
                item.name,
                target,
                data,
                mode=item.mode,
                summary=summary,
            )
        )
        archive.members = []  # type: ignore[attr-defined]  # tarfile remembers every member otherwise


def _nested(file: IO[bytes], size: int, depth: int) -> Tree:
    if size > _LARGEST_SHARED:
        return _read_stream(file, depth)
    data = file.read()
    digest = hashlib.sha256(data).digest()
    tree = _SHARED.get(digest)
    if tree is None:
        tree = _SHARED[digest] = _read_stream(io.BytesIO(data), depth)
    return tree


def safe_path(name: str) -> str:
    """``./a//b/`` as ``a/b``; "" for the root itself and for every name that leads outside."""
    if name.startswith("/") or "\0" in name:
        return ""
    parts = [part for part in PurePosixPath(name).parts if part != "."]
    return "" if ".." in parts else "/".join(parts)
