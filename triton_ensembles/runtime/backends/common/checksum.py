"""The checksum of a file of weights: half the time of a cryptographic one, for files that nobody forges."""

import zlib
from pathlib import Path

_CHUNK = 1 << 20


def fingerprint(path: Path) -> dict[str, int]:
    """The ``size`` of a file in bytes, and its ``crc32``."""
    size = checksum = 0
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            checksum = zlib.crc32(chunk, checksum)
    return {"size": size, "crc32": checksum}
