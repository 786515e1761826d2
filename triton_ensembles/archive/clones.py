"""Many archives of one ensemble under names of their own, written at the speed of the disk.

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
from triton_ensembles.archive.gzip_stream import GzipStream
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.archive.tar_stream import Member, TarStream
from triton_ensembles.archive.write import BLOCK, GzipMember
from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import parse_json, write_whole
from triton_ensembles.triton.model_config import CONFIG, ModelConfig, format_config, parse_config

_LARGE = 4 << 10  # bytes; a smaller file is compressed with its neighbors, which takes less space
_LEVEL = 6  # level 9, zlib's best, takes three times as long
_OURS = "clone an archive that this project's command build wrote"
_ENVIRONMENT = "EXECUTION_ENV_PATH"  # it may name another step's folder
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
    archive: Path, names: Sequence[str], folder: Path, progress: Callable[[str], object] = lambda _: None
) -> Iterator[Path]:
    """Write a clone of the built ``archive`` for each name into ``folder``; yield each path once it is complete.

    Raises:
        EnsembleError: the archive was not built by this project, or the clones do not fit on the disk.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as scratch:
        progress(f"reading {archive.name}")
        ensemble, members = _read(archive, scratch)
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
            _write(path, _segments(members, ensemble, name), scratch)
            yield path


def _read(archive: Path, scratch: BinaryIO) -> tuple[str, list[_Member]]:
    """The ensemble's name and all members, large contents compressed into ``scratch``."""
    members: list[_Member] = []
    budget = Budget()
    try:
        with archive.open("rb") as file:
            tar = TarStream(GzipStream(file, budget), budget)
            for member in tar:
                budget.take_entry(member.name)
                members.append(_read_member(tar, member, archive, budget, scratch))
            tar.drain()
    except (OSError, ArchiveError) as error:
        raise EnsembleError(f"this is not a complete .tar.gz: {error}", path=archive, cure="build it again") from error
    return _ensemble_of(members, archive), members


def _read_member(tar: TarStream, member: Member, archive: Path, budget: Budget, scratch: BinaryIO) -> _Member:
    info = tarfile.TarInfo(member.name)
    info.size, info.mode, info.mtime = member.size, member.mode, member.mtime
    info.uname = info.gname = "root"
    if member.is_folder:
        info.type = tarfile.DIRTYPE
        return info, b""
    if not member.is_file or member.segments is not None:
        raise EnsembleError(f"'{member.name}' is a link or a special file", path=archive, cure=_OURS)
    if _has_names(member.name):
        budget.take_text(member.size, is_config=True)
    elif member.size > _LARGE or not budget.take_text(member.size, is_config=False):
        return info, _compress(tar, member.size, scratch)
    return info, tar.content(member)


def _ensemble_of(members: list[_Member], archive: Path) -> str:
    manifest = next((content for info, content in members if info.name == MANIFEST), None)
    if not isinstance(manifest, bytes):
        raise EnsembleError(f"the archive has no {MANIFEST}", path=archive, cure=_OURS)
    try:
        ensemble = parse_json(manifest)["ensemble"]
    except (ValueError, LookupError, TypeError):
        ensemble = None
    if not isinstance(ensemble, str) or not ensemble.isprintable() or "/" in ensemble or not ensemble:
        raise EnsembleError(f"this is not a {MANIFEST} of this project", path=archive / MANIFEST, cure=_OURS)
    return ensemble


def _compress(stream: TarStream, size: int, scratch: BinaryIO) -> _Compressed:
    offset = scratch.tell()
    with GzipMember(scratch) as member:
        for block in iter(lambda: stream.read(BLOCK), b""):
            member.write(block)
        member.write(bytes(-size % tarfile.BLOCKSIZE))
    scratch.flush()
    return _Compressed(offset, scratch.tell() - offset)


def _segments(members: list[_Member], ensemble: str, name: str) -> Iterator[bytes | _Compressed]:
    """The clone as a sequence of bytes still to be compressed and of gzip members that only need to be copied."""
    pending = bytearray()
    for original, content in members:
        info = copy(original)
        # The ensemble's own folder and those of its steps (``bert_trt.preprocess``); files at the root stay.
        first, slash, rest = info.name.partition("/")
        info.name = f"{_model(first, ensemble, name)}{slash}{rest}"
        if isinstance(content, bytes):
            content = _rewritten(original.name, content, ensemble, name)
            info.size = len(content)
            pending += info.tobuf(tarfile.PAX_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)
        else:
            yield bytes(pending) + info.tobuf(tarfile.PAX_FORMAT)
            pending.clear()
            yield content
    yield bytes(pending) + bytes(2 * tarfile.BLOCKSIZE)  # two empty blocks end a tar


def _model(model: str, ensemble: str, name: str) -> str:
    return name + model.removeprefix(ensemble) if model == ensemble or model.startswith(f"{ensemble}.") else model


def _has_names(path: str) -> bool:
    """Whether this is a file in which clones differ."""
    parts = PurePosixPath(path).parts
    return path == MANIFEST or (len(parts) == 2 and parts[1] == CONFIG)


def _rewritten(path: str, content: bytes, ensemble: str, name: str) -> bytes:
    if path == MANIFEST:
        return (
            json.dumps(json.loads(content) | {"ensemble": name, "clone_of": ensemble}, indent=2, sort_keys=True) + "\n"
        ).encode()
    if not _has_names(path):
        return content
    config: ModelConfig = parse_config(content.decode(), path)
    config.name = _model(config.name, ensemble, name)
    if _ENVIRONMENT in config.parameters:  # reading a missing key of a protobuf map would add it
        value = config.parameters[_ENVIRONMENT]
        parts = [_model(part, ensemble, name) for part in value.string_value.split("/")]
        value.string_value = "/".join(parts)
    for step in config.ensemble_scheduling.step:
        step.model_name = _model(step.model_name, ensemble, name)
    return format_config(config).encode()


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
