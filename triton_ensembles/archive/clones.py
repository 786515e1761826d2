"""An archive that is written again and again under names of its own, at the speed of the disk.

Clones differ in names, and some bring files of their own. Every reader joins the members of a gzip file (RFC 1952,
2.2). So each file of some size is compressed once, as a member of its own, which the kernel copies into every clone.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.clone_texts import Changes, CloneTexts, Replacement, differs, is_config
from triton_ensembles.archive.members import CURES, plain_path, refuse_missing
from triton_ensembles.archive.model_names import ModelNames, model_names
from triton_ensembles.archive.tar_stream import Member, TarStream
from triton_ensembles.archive.write import BLOCK, GzipMember
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import write_whole

_LARGE = 4 << 10  # bytes; a smaller file is compressed with its neighbors, which takes less space
_LEVEL = 6  # level 9, zlib's best, takes three times as long
# Of ustar, in bytes: the name comes first; then, among others, the sum of all.
_NAME_BYTES, _SUM = 100, slice(148, 156)


@dataclass(frozen=True)
class _Compressed:
    """The place in the scratch file, in bytes, of the gzip member of a large file, padded as tar requires."""

    offset: int
    length: int


_Member = tuple[tarfile.TarInfo, bytes | _Compressed]


@contextmanager
def read_original(
    archive: Path, folder: Path, progress: Callable[[str], object] = lambda _: None
) -> Iterator[Original]:
    """Read ``archive``, compressed once for clones in the folder ``folder``, which is made if it does not exist.
    Raises :class:`EnsembleError`: the archive has no model at its root, or a link."""
    refuse_missing(archive)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as scratch:
        progress(f"reading {archive.name}")
        names, members = _read(archive, scratch)
        yield Original(archive, folder, scratch, names, members)


@dataclass(frozen=True)
class Original:
    """An archive that is cloned."""

    archive: Path
    folder: Path  # where clones are written
    scratch: BinaryIO  # the file with what is compressed
    names: ModelNames  # of its models
    members: Sequence[_Member]

    @cached_property
    def texts(self) -> CloneTexts:
        kept = ((info.name, content) for info, content in self.members if isinstance(content, bytes))
        return CloneTexts({path: content for path, content in kept if differs(path)}, self.names)

    @cached_property
    def _headers(self) -> Sequence[_RenamedHeader]:
        return [_RenamedHeader(info) for info, _ in self.members]

    @property
    def files(self) -> list[str]:
        return [info.name for info, _ in self.members if info.isfile()]

    def refuse_itself(self, path: Path) -> None:
        """Raise :class:`EnsembleError` when a clone would be written to ``path`` in place of the original."""
        if path.exists() and path.samefile(self.archive):
            message = "this is the archive that is cloned itself"
            raise EnsembleError(message, path=path, cure="choose another name, or another --output")

    def refuse_without_space(self, count: int) -> None:
        """Raise :class:`EnsembleError` when ``count`` clones do not fit on the disk."""
        need, free = self.archive.stat().st_size * count, shutil.disk_usage(self.folder).free
        if need > free:
            size = f"{need / 1e9:.1f} GB, but only {free / 1e9:.1f} GB are free"
            message = f"{count} clones of {self.archive.name} need {size}"
            raise EnsembleError(message, path=self.folder, cure="write fewer at a time")

    def write(self, changes: Changes, path: Path) -> None:
        """Write the clone, whole or not at all. Raises :class:`EnsembleError`: a file of its own changes meanwhile."""
        with write_whole(path) as partial, partial.open("wb") as output:
            for segment in self._segments(changes):
                if isinstance(segment, bytes):
                    output.write(gzip.compress(segment, _LEVEL, mtime=0))
                elif isinstance(segment, Replacement):
                    _replace(segment, output)
                else:
                    output.flush()
                    _copy(self.scratch.fileno(), segment, output.fileno())

    def renamed(self, path: str, clone: str, *, is_folder: bool) -> str:
        """The path in ``clone`` of what is at ``path`` in the original."""
        first, slash, inner = path.partition("/")
        return f"{self.names.of(first, clone) if slash or is_folder else first}{slash}{inner}"

    def _segments(self, changes: Changes) -> Iterator[bytes | _Compressed | Replacement]:
        """The clone as bytes to be compressed, gzip members to be copied, and files to be read, in their order."""
        texts = self.texts.of(changes)
        pending = bytearray()
        for header, (original, content) in zip(self._headers, self.members, strict=True):
            if original.name in changes.left_out:
                continue
            name = self.renamed(original.name, changes.name, is_folder=original.isdir())
            replacement = changes.files.get(original.name)
            if isinstance(content, bytes) and not replacement:
                content = texts.get(original.name, content)
                pending += header.of(name, len(content)) + content + bytes(-len(content) % tarfile.BLOCKSIZE)
                continue
            yield bytes(pending + header.of(name, replacement.size if replacement else original.size))
            pending.clear()
            yield replacement or content
        yield bytes(pending) + bytes(2 * tarfile.BLOCKSIZE)  # two empty blocks end a tar


class _RenamedHeader:
    """The header of ``info`` with other names and sizes, as :meth:`tarfile.TarInfo.tobuf` makes it, most of it once."""

    def __init__(self, info: tarfile.TarInfo) -> None:
        self._info = info
        self._size = info.size
        self._rest: bytes | None = None  # None: it needs more than one block
        header = self._made("x", info.size)
        if len(header) == tarfile.BLOCKSIZE:
            self._rest = header[_NAME_BYTES:]
            self._rest_sum = sum(header[_NAME_BYTES:]) - sum(header[_SUM]) + 8 * ord(" ")

    def of(self, name: str, size: int) -> bytes:
        """Both of the member in the clone; the size is in bytes."""
        written = f"{name}/" if self._info.isdir() else name
        if self._rest is None or size != self._size or len(written) > _NAME_BYTES or not written.isascii():
            return self._made(name, size)
        encoded = written.encode()
        total = b"%06o\0 " % (self._rest_sum + sum(encoded))
        start, stop = _SUM.start - _NAME_BYTES, _SUM.stop - _NAME_BYTES
        return encoded.ljust(_NAME_BYTES, b"\0") + self._rest[:start] + total + self._rest[stop:]

    def _made(self, name: str, size: int) -> bytes:
        info = copy(self._info)
        info.name, info.size = name, size
        return info.tobuf(tarfile.PAX_FORMAT)


def _read(archive: Path, scratch: BinaryIO) -> tuple[ModelNames, list[_Member]]:
    """The names of the models, and all members, large contents compressed into ``scratch``."""
    members: list[_Member] = []
    budget = Budget()
    try:
        with archive.open("rb") as file:
            tar = TarStream.gzipped(file, budget)
            for member in tar:
                if name := plain_path(member):
                    members.append(_read_member(tar, member, name, budget, scratch))
            tar.drain()
    except ArchiveError as error:
        cure = CURES.get(error.rule, "")
        message = error.message if cure else f"this is not a complete .tar.gz: {error}"
        raise EnsembleError(message, path=archive, cure=cure or "build it again") from error
    texts = {info.name: content for info, content in members if isinstance(content, bytes) and is_config(info.name)}
    configs = {name: content.decode(errors="replace") for name, content in texts.items()}
    return model_names([info.name for info, _ in members], configs, archive), members


def _read_member(tar: TarStream, member: Member, name: str, budget: Budget, scratch: BinaryIO) -> _Member:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = member.size, member.mode, member.mtime
    info.uname = info.gname = "root"
    if member.is_folder:
        info.type, info.size = tarfile.DIRTYPE, 0
        return info, b""
    is_text = differs(name) or member.size <= _LARGE
    if not (is_text and budget.take_text(member.size, is_config=is_config(name))):
        return info, _compress(tar, member.size, scratch)
    return info, tar.content()


def _compress(stream: TarStream, size: int, scratch: BinaryIO) -> _Compressed:
    offset = scratch.tell()
    with GzipMember(scratch) as member:
        for block in iter(lambda: stream.read(BLOCK), b""):
            member.write(block)
        member.write(bytes(-size % tarfile.BLOCKSIZE))
    scratch.flush()
    return _Compressed(offset, scratch.tell() - offset)


def _replace(replacement: Replacement, output: BinaryIO) -> None:
    digest, taken = hashlib.sha256(), 0
    with replacement.path.open("rb") as file, GzipMember(output) as member:
        while block := file.read(BLOCK):
            digest.update(block)
            taken += len(block)
            # Padding belongs to the last block, which alone is short.
            member.write(block + bytes(-len(block) % tarfile.BLOCKSIZE))
    if taken != replacement.size or digest.hexdigest() != replacement.sha256:
        raise EnsembleError("this file has changed while it was read", path=replacement.path, cure="run it again")


def _copy(source: int, segment: _Compressed, destination: int) -> None:
    """Let the kernel copy: the bytes do not pass through this process."""
    done = 0
    while done < segment.length:
        done += os.copy_file_range(source, destination, segment.length - done, segment.offset + done)
