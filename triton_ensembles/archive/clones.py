"""Many archives of one repository under names of their own, written at the speed of the disk.

Clones differ only in names: those of folders, in the configs and in the manifest. A gzip file may consist of several
members one after another (RFC 1952, 2.2), and every reader joins them. So each file of some size (weights, libraries,
modules) is compressed once, as a gzip member of its own, and the kernel copies that member into every clone. The tar
headers and small files between them are compressed again for each clone.
"""

import gzip
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from triton_ensembles.archive.budget import ArchiveError, Budget
from triton_ensembles.archive.common_environments import common_environments
from triton_ensembles.archive.gzip_stream import GzipStream
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.archive.model_names import ModelNames, model_names
from triton_ensembles.archive.tar import safe_path, unsafe_because
from triton_ensembles.archive.tar_stream import Member, TarStream
from triton_ensembles.archive.write import BLOCK, GzipMember
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import parse_json, write_whole
from triton_ensembles.triton.model_config import CONFIG, format_config, parse_config

_LARGE = 4 << 10  # bytes; a smaller file is compressed with its neighbors, which takes less space
_LEVEL = 6  # level 9, zlib's best, takes three times as long
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class _Compressed:
    """Where the gzip member of a large file, padded as tar requires, lies in the scratch file. In bytes."""

    offset: int
    length: int


_Member = tuple[tarfile.TarInfo, bytes | _Compressed]


def clone_names(prefix: str, count: int) -> list[str]:
    """``prefix_0000`` and so on. Raises :class:`EnsembleError` for a prefix that a model's name cannot have."""
    if not _PREFIX.fullmatch(prefix):
        raise EnsembleError(
            f"{prefix!r} is not a valid beginning of a model's name",
            cure="use up to 100 letters, digits, _ and -, beginning with a letter or a digit",
        )
    digits = max(4, len(str(count - 1)))
    return [f"{prefix}_{number:0{digits}}" for number in range(count)]


def clone(
    archive: Path,
    names: Sequence[str],
    folder: Path,
    progress: Callable[[str], object] = lambda _: None,
    *,
    common: bool = False,
) -> Iterator[Path]:
    """Write a clone of ``archive`` for each name into ``folder``; yield each path once it is complete.

    Args:
        common: put the environments of an ensemble where all clones have them, as :func:`common_environments`.

    Raises:
        EnsembleError: the archive has no model at its root, or a link; or the clones do not fit on the disk.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as scratch:
        progress(f"reading {archive.name}")
        names_in, members = _read(archive, scratch)
        if common:
            members = common_environments(members, names_in)
        need, free = archive.stat().st_size * len(names), shutil.disk_usage(folder).free
        if need > free:
            raise EnsembleError(
                f"{len(names)} clones of {archive.name} need {need / 1e9:.1f} GB, but only {free / 1e9:.1f} GB "
                "are free",
                path=folder,
                cure="write fewer at a time",
            )
        for name in names:
            path = folder / f"{name}.tar.gz"
            _write(path, _segments(members, names_in, name), scratch)
            yield path


def _read(archive: Path, scratch: BinaryIO) -> tuple[ModelNames, list[_Member]]:
    """The names of the models, and all members, large contents compressed into ``scratch``."""
    members: list[_Member] = []
    budget = Budget()
    try:
        with archive.open("rb") as file:
            tar = TarStream(GzipStream(file, budget), budget)
            for member in tar:
                budget.take_entry(member.name)
                if read := _read_member(tar, member, archive, budget, scratch):
                    members.append(read)
            tar.drain()
    except (OSError, ArchiveError) as error:
        raise EnsembleError(f"this is not a complete .tar.gz: {error}", path=archive, cure="build it again") from error
    texts = {info.name: content for info, content in members if isinstance(content, bytes) and _has_names(info.name)}
    configs = {name: content.decode(errors="replace") for name, content in texts.items() if name != MANIFEST}
    return model_names([info.name for info, _ in members], configs, archive), members


def _read_member(tar: TarStream, member: Member, archive: Path, budget: Budget, scratch: BinaryIO) -> _Member | None:
    """None for the root itself, ``./``, which tar lists."""
    name = safe_path(member.name)
    if not name:
        if member.is_folder and set(member.name) <= set("./") and ".." not in member.name:
            return None
        raise EnsembleError(
            unsafe_because(member.name), path=archive, cure="pack it with relative names: tar -C FOLDER"
        )
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = member.size, member.mode, member.mtime
    info.uname = info.gname = "root"
    if member.is_folder:
        info.type, info.size = tarfile.DIRTYPE, 0
        return info, b""
    if not member.is_file or member.segments is not None:
        raise EnsembleError(
            f"'{name}' is a link or a special file, with which SageMaker refuses the archive",
            path=archive,
            cure="pack what it leads to: tar -h --hard-dereference",
        )
    if _has_names(name):
        budget.take_text(member.size, is_config=True)
    elif member.size > _LARGE or not budget.take_text(member.size, is_config=False):
        return info, _compress(tar, member.size, scratch)
    return info, tar.content(member)


def _compress(stream: TarStream, size: int, scratch: BinaryIO) -> _Compressed:
    offset = scratch.tell()
    with GzipMember(scratch) as member:
        for block in iter(lambda: stream.read(BLOCK), b""):
            member.write(block)
        member.write(bytes(-size % tarfile.BLOCKSIZE))
    scratch.flush()
    return _Compressed(offset, scratch.tell() - offset)


def _segments(members: list[_Member], names: ModelNames, clone: str) -> Iterator[bytes | _Compressed]:
    """The clone as a sequence of bytes still to be compressed and of gzip members that only need to be copied."""
    pending = bytearray()
    for original, content in members:
        info = copy(original)
        first, slash, rest = info.name.partition("/")
        info.name = f"{names.of(first, clone) if slash or info.isdir() else first}{slash}{rest}"
        if isinstance(content, bytes):
            content = _rewritten(original.name, content, names, clone)
            info.size = len(content)
            pending += info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)
        else:
            yield bytes(pending) + info.tobuf(tarfile.PAX_FORMAT)
            pending.clear()
            yield content
    yield bytes(pending) + bytes(2 * tarfile.BLOCKSIZE)  # two empty blocks end a tar


def _has_names(path: str) -> bool:
    """Whether this is a file in which clones differ."""
    parts = PurePosixPath(path).parts
    return path == MANIFEST or (len(parts) <= 2 and parts[-1] == CONFIG)


def _rewritten(path: str, content: bytes, names: ModelNames, clone: str) -> bytes:
    if path == MANIFEST:
        return _manifest(content, clone)
    if not _has_names(path):
        return content
    config = parse_config(content.decode(), path)
    names.rename(config, path.rpartition("/")[0], clone)
    return format_config(config).encode()


def _manifest(content: bytes, clone: str) -> bytes:
    """The manifest of an archive that this project's build has written; any other file of the name as it is."""
    try:
        found = parse_json(content)
        original = found["ensemble"]
    except (ValueError, LookupError, TypeError):
        return content
    return (json.dumps(found | {"ensemble": clone, "clone_of": original}, indent=2, sort_keys=True) + "\n").encode()


def _write(path: Path, segments: Iterator[bytes | _Compressed], scratch: BinaryIO) -> None:
    with write_whole(path) as partial, partial.open("wb") as output:
        for segment in segments:
            if isinstance(segment, bytes):
                output.write(gzip.compress(segment, _LEVEL, mtime=0))
            else:
                output.flush()
                _copy(scratch.fileno(), segment, output.fileno())


def _copy(source: int, segment: _Compressed, destination: int) -> None:
    """Let the kernel copy: the bytes do not pass through this process."""
    done = 0
    while done < segment.length:
        done += os.copy_file_range(source, destination, segment.length - done, segment.offset + done)
