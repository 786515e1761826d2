"""The headers of tar: the fields of one block of 512 bytes, and the records of a pax header (POSIX.1-2001, GNU tar)."""

import struct
from dataclasses import dataclass
from functools import lru_cache
from zlib import adler32

from triton_ensembles.archive.budget import ArchiveError, Budget

BLOCK = 512
_FIELDS = struct.Struct("100s8s16x12s12s8sc100s8s80x155s12x")
_COST = 64  # what a pax record counts for, besides its own bytes
SPARSE = "GNU.sparse."  # the beginning of the keys of a file without its holes, as `tar --sparse` stores it
_USED = (b"path", b"linkpath", b"size", b"mtime", SPARSE.encode())
_LONGEST_NUMBER = 20  # digits


class BadHeaderError(ArchiveError):
    """There is no valid header where one belongs."""

    def __init__(self, why: str) -> None:
        super().__init__("archive-truncated", f"the tar data is damaged or breaks off ({why})")


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a block. ``type`` is b"0" for a file and b"5" for a folder, however the archive has it."""

    name: str
    mode: int
    size: int
    mtime: int
    type: bytes
    target: str


def parse_header(block: bytes) -> Header:
    """Raises :class:`BadHeaderError`, also for a wrong checksum."""
    if len(block) < BLOCK:
        raise BadHeaderError("a header breaks off")
    name, mode, size, mtime, checksum, type, target, magic, prefix = _FIELDS.unpack(block)
    written = number(checksum)
    if written != _sum(block) - sum(checksum) + 256:  # its own eight bytes count as blanks
        signed = sum(byte - 256 if byte > 127 else byte for byte in block[:148] + block[156:]) + 256
        if written != signed:
            raise BadHeaderError("bad checksum")
    path = text(_until_nul(name))
    if magic.startswith(b"ustar\0") and prefix[0]:  # GNU tar has other things there
        path = f"{text(_until_nul(prefix))}/{path}"
    if type in b"\x007":
        type = b"5" if type == b"\0" and path.endswith("/") else b"0"  # as tar had folders before POSIX
    return Header(path, number(mode), number(size), number(mtime), type, text(_until_nul(target)))


def parse_records(data: bytes, budget: Budget) -> dict[str, str]:
    """The records of a pax header that matter here: those of names, sizes, times and holes. Raises
    :class:`ArchiveError`: they are damaged, or too many."""
    records: dict[str, str] = {}
    at = 0
    while at < len(data) and data[at]:
        budget.take_header(_COST)
        digits = data[at : at + _LONGEST_NUMBER].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        key, equals, value = data[at + len(digits) + 1 : at + length - 1].partition(b"=")
        if not equals or not len(digits) < length <= len(data) - at:  # one of no length would be read for ever
            raise BadHeaderError("bad pax header")
        if key.startswith(_USED):
            records[text(key)] = text(value)
        at += length
    return records


def decimal(written: str) -> int:
    """The number in a pax record. Raises :class:`BadHeaderError`."""
    if not (written.isascii() and written.isdigit() and len(written) <= _LONGEST_NUMBER):
        raise BadHeaderError(f"bad number '{written[:_LONGEST_NUMBER]}'")
    return int(written)


def text(data: bytes) -> str:
    """Names are UTF-8; other bytes survive as surrogates, as Python has them in the names of files."""
    return data.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=1024)  # modes and times are those of many members
def number(field: bytes) -> int:
    """A number of a header: octal digits, or GNU tar's binary form. Raises :class:`BadHeaderError`."""
    if field[0] in (0x80, 0xFF):
        return int.from_bytes(field[1:], "big") - (1 << 8 * (len(field) - 1) if field[0] == 0xFF else 0)
    digits = _until_nul(field).strip()
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        raise BadHeaderError("invalid header") from None


def _sum(block: bytes) -> int:
    """The sum of its bytes: Adler-32 has that of 256 of them in its lower half, and takes a tenth of the time."""
    half = BLOCK // 2
    return (adler32(block[:half], 0) & 0xFFFF) + (adler32(block[half:], 0) & 0xFFFF)


def _until_nul(field: bytes) -> bytes:
    return field.partition(b"\0")[0]
