"""Writes a folder as a .tar.gz whose bytes depend only on the folder's content.

Members lie at the root (``tar -C tree``), sorted, owned by root, with fixed times; the gzip header carries neither
name nor time. The bytes are the same for one version of zlib. Data that hardly shrinks is stored uncompressed.
"""

from __future__ import annotations

import os
import struct
import tarfile
import zlib
from collections.abc import Callable
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


class GzipMember:
    """One gzip member, written to ``raw`` block by block. Leaving its context ends the member; ``raw`` stays open.
    ``taken`` is the number of uncompressed bytes so far."""

    def __init__(self, raw: BinaryIO) -> None:
        self.taken = 0
        self._raw = raw
        self._crc = 0
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        raw.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")  # deflate, no flags, no time, unknown system (RFC 1952)

    def write(self, block: bytes) -> int:
        self.taken += len(block)
        self._crc = zlib.crc32(block, self._crc)
        if _shrinks(block):
            self._raw.write(self._deflate.compress(block))
            return len(block)
        # A full flush ends on a byte boundary, and nothing after it refers to data before it.
        self._raw.write(self._deflate.flush(zlib.Z_FULL_FLUSH))
        for start in range(0, len(block), _LARGEST_STORED):
            part = block[start : start + _LARGEST_STORED]
            self._raw.write(struct.pack("<BHH", 0, len(part), ~len(part) & 0xFFFF) + part)
        return len(block)

    def __enter__(self) -> GzipMember:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._raw.write(self._deflate.flush(zlib.Z_FINISH))
            self._raw.write(struct.pack("<II", self._crc, self.taken & 0xFFFFFFFF))


def _shrinks(block: bytes) -> bool:
    if len(block) > 2 * _PARTS * _PART:
        block = b"".join(block[start : start + _PART] for start in range(0, len(block), len(block) // _PARTS))
    return len(zlib.compress(block, 1)) < _WORTHWHILE * len(block)


def write_archive(tree: Path, destination: Path, *, progress: Callable[[str], object] = lambda _: None) -> None:
    """Write the archive of ``tree`` to ``destination``, which is replaced only once it is complete; ``progress`` gets a
    line after every 64 MB. Raises :class:`EnsembleError`: the tree holds a special file or a link."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with write_whole(destination) as partial, partial.open("wb") as raw:
        with (
            GzipMember(raw) as stream,
            tarfile.open(  # type: ignore[call-overload]  # copybufsize is missing in its types
                fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, bufsize=BLOCK, copybufsize=BLOCK
            ) as tar,
        ):
            reported = 0
            for name, path in sorted((path.relative_to(tree).as_posix(), path) for path in tree.rglob("*")):
                _add(tar, path, name)
                if stream.taken - reported > _PROGRESS_BYTES:
                    reported = stream.taken
                    progress(f"packing {destination.name}: {reported / 1e6:.0f} MB so far")
        raw.flush()
        os.fsync(raw.fileno())


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.mtime = _FIXED_TIME
    member.uname = member.gname = "root"
    if path.is_symlink() or not (path.is_file() or path.is_dir()):
        raise EnsembleError("SageMaker refuses archives with links or special files", path=path)
    if path.is_dir():
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
    else:
        member.size = path.stat().st_size
        member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
        if name.endswith(".tar.gz"):
            # Triton caches an extracted environment by path and mtime, even after the model is unloaded (pb_env.cc).
            # A new environment under an old path therefore needs a new time.
            member.mtime += int(file_digest(path)[:7], 16)
        with path.open("rb") as content:
            tar.addfile(member, content)
