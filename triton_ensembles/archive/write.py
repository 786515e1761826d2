"""Writes a folder as a .tar.gz whose bytes depend only on the folder's content.

Members lie at the root (``tar -C tree``), sorted, owned by root, with fixed times; the gzip header carries neither
name nor time. The bytes are the same for one version of zlib. Data that hardly shrinks is stored uncompressed. What a
large file is deflated to depends on nothing before it, so that the next archive with the file copies it.
"""

from __future__ import annotations

import os
import struct
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest, write_whole

_FIXED_TIME = 1_000_000_000  # 2001-09-09; not 0, which some tools print as "no date"
_PROGRESS_BYTES = 64 << 20
_LEVEL = 6  # level 9 takes three times as long for less than 1 %
BLOCK = 1 << 20  # bytes: write in pieces of this size
# A block that would shrink by less than a tenth is stored: fp32 weights shrink by 8 %, a packed environment not at all,
# and inflating them took most of the time of unpacking bert_trt. Stored, they cost little more than a copy.
_WORTHWHILE = 0.9
# That is tried on parts from all over the block: all of it would take longer than anything else that is done with it.
_PARTS, _PART = 8, 8 << 10
_LARGEST_STORED = 0xFFFF  # bytes in one stored block of deflate (RFC 1951, 3.2.4)
_LARGE = 1 << 18  # bytes of a file that is deflated on its own
_RECORD = 10240  # bytes: tar fills its last one


@dataclass(frozen=True)
class Packed:
    """An archive that was written, and where the deflated data of its large files is: start and length in bytes, by the
    sha256 of the file."""

    path: Path
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class GzipMember:
    """Writes a gzip member to ``raw``, block by block. Leaving its context ends the member; ``raw`` stays open.
    ``taken`` is the number of uncompressed bytes so far."""

    def __init__(self, raw: BinaryIO) -> None:
        self.taken = 0
        self._raw = raw
        self._crc = 0
        self._deflate = _deflate()
        raw.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")  # deflate, no flags, no time, unknown system (RFC 1952)

    def write(self, block: bytes) -> int:
        self._count(block)
        self._put(block, self._deflate)
        return len(block)

    def write_file(self, path: Path, deflated: tuple[Path, int, int] | None) -> tuple[int, int]:
        """Write the content of a file, which ``deflated`` (a file, the start and the length in it) has already if it is
        given. Returns the place in ``raw``."""
        self._raw.write(self._deflate.flush(zlib.Z_FULL_FLUSH))
        start, deflate = self._raw.tell(), _deflate()
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                self._count(block)
                if not deflated:
                    self._put(block, deflate)
        if deflated:
            with deflated[0].open("rb") as earlier:
                earlier.seek(deflated[1])
                for at in range(0, deflated[2], BLOCK):
                    self._raw.write(earlier.read(min(BLOCK, deflated[2] - at)))
        else:
            self._raw.write(deflate.flush(zlib.Z_FULL_FLUSH))
        return start, self._raw.tell() - start

    def _count(self, block: bytes) -> None:
        self.taken += len(block)
        self._crc = zlib.crc32(block, self._crc)

    def _put(self, block: bytes, deflate: zlib._Compress) -> None:
        if _shrinks(block):
            self._raw.write(deflate.compress(block))
            return
        # A full flush ends on a byte boundary, and nothing after it refers to data before it.
        self._raw.write(deflate.flush(zlib.Z_FULL_FLUSH))
        for start in range(0, len(block), _LARGEST_STORED):
            part = block[start : start + _LARGEST_STORED]
            self._raw.write(struct.pack("<BHH", 0, len(part), ~len(part) & 0xFFFF) + part)

    def __enter__(self) -> GzipMember:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._raw.write(self._deflate.flush(zlib.Z_FINISH))
            self._raw.write(struct.pack("<II", self._crc, self.taken & 0xFFFFFFFF))


def _deflate() -> zlib._Compress:
    return zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)


def _shrinks(block: bytes) -> bool:
    if len(block) > 2 * _PARTS * _PART:
        block = b"".join(block[start : start + _PART] for start in range(0, len(block), len(block) // _PARTS))
    return len(zlib.compress(block, 1)) < _WORTHWHILE * len(block)


def write_archive(
    tree: Path, destination: Path, *, earlier: Packed | None = None, progress: Callable[[str], object] = lambda _: None
) -> Packed:
    """Write the archive of ``tree`` to ``destination``, which is replaced only once it is complete; ``progress`` gets a
    line after every 64 MB. Large files that the archive ``earlier`` has are copied from it as they are deflated there.
    Raises :class:`EnsembleError`: the tree holds a special file or a link."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    places: dict[str, tuple[int, int]] = {}
    with write_whole(destination) as partial, partial.open("wb") as raw:
        with GzipMember(raw) as stream:
            small, reported = bytearray(), 0
            for name, path in sorted((path.relative_to(tree).as_posix(), path) for path in tree.rglob("*")):
                member = _member(path, name)
                small += member.tobuf(tarfile.PAX_FORMAT)
                if member.size >= _LARGE:
                    stream.write(bytes(small))
                    digest = file_digest(path)
                    place = earlier.places.get(digest) if earlier else None
                    source = (earlier.path, *place) if earlier and place else None
                    places[digest] = stream.write_file(path, source)
                    small.clear()
                elif member.size:
                    small += path.read_bytes()
                small += bytes(-member.size % tarfile.BLOCKSIZE)
                if len(small) >= BLOCK:
                    stream.write(bytes(small))
                    small.clear()
                if stream.taken - reported > _PROGRESS_BYTES:
                    reported = stream.taken
                    progress(f"packing {destination.name}: {reported / 1e6:.0f} MB so far")
            small += bytes(2 * tarfile.BLOCKSIZE)
            small += bytes(-(stream.taken + len(small)) % _RECORD)
            stream.write(bytes(small))
        raw.flush()
        os.fsync(raw.fileno())
    return Packed(destination, places)


def _member(path: Path, name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mtime = _FIXED_TIME
    member.uname = member.gname = "root"
    if path.is_symlink() or not (path.is_file() or path.is_dir()):
        raise EnsembleError("SageMaker refuses archives with links or special files", path=path)
    if path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
    else:
        member.size = path.stat().st_size
        member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
        if name.endswith(".tar.gz"):
            # Triton caches an extracted environment by path and mtime, even after the model is unloaded (pb_env.cc).
            # A new environment under an old path therefore needs a new time.
            member.mtime += int(file_digest(path)[:7], 16)
    return member
