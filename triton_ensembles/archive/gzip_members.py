"""The gzip members of an archive: what many archives have in common is equal members (see clones.py).

A member begins with gzip's magic (RFC 1952, 2.3.1). The same bytes inside of it split it in the same place everywhere.
"""

import hashlib
import mmap
import zlib
from dataclasses import dataclass
from pathlib import Path

_START = b"\x1f\x8b\x08\0\0\0\0\0"  # deflate, no name, no time: as every member of an archive that is always the same
_BLOCK = 1 << 20  # bytes: what is looked at is not all in memory


@dataclass(frozen=True, slots=True)
class GzipMember:
    """Bytes ``start`` to ``start + length`` of an archive, and their SHA-256."""

    start: int
    length: int
    digest: bytes


def gzip_members(path: Path) -> tuple[list[GzipMember], int]:
    """The members of the archive at ``path``, one after the other, and the CRC-32 of the whole file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        members: list[GzipMember] = []
        start = crc = 0
        while start < len(data):
            stop = data.find(_START, start + 1)
            stop = len(data) if stop < 0 else stop
            digest = hashlib.sha256()
            for at in range(start, stop, _BLOCK):
                block = data[at : min(at + _BLOCK, stop)]
                crc = zlib.crc32(block, crc)
                digest.update(block)
            members.append(GzipMember(start, stop - start, digest.digest()))
            start = stop
    return members, crc
