"""A gzip member whose blocks are deflated, or stored where deflating gains little."""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

_LEVEL = 6  # level 9 takes three times as long for less than 1 %
BLOCK = 1 << 20  # bytes: write in pieces of this size
# A block that would shrink by less than a tenth is stored: fp32 weights shrink by 8 %, a packed environment not at all,
# and inflating them took most of the time of unpacking bert_trt. Stored, they cost little more than a copy.
_WORTHWHILE = 0.9
_LARGEST_STORED = 0xFFFF  # bytes in one stored block of deflate (RFC 1951, 3.2.4)


class GzipMember:
    """One gzip member, written to ``raw`` block by block. Leaving its context ends the member; ``raw`` stays open.

    ``taken`` is the number of uncompressed bytes so far.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self.taken = 0
        self._raw = raw
        self._crc = 0
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        raw.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")  # deflate, no flags, no time, unknown system (RFC 1952)

    def write(self, block: bytes) -> int:
        self.taken += len(block)
        self._crc = zlib.crc32(block, self._crc)
        if len(zlib.compress(block, 1)) < _WORTHWHILE * len(block):
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
