"""A small picture, for requests to models that decode one."""

import struct
import zlib


def png(side: int = 64) -> bytes:
    """Colors that run from one corner to the other, RGB, as a PNG."""
    rows = b"".join(b"\0" + bytes(value for x in range(side) for value in (4 * x, 4 * y, 128)) for y in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
