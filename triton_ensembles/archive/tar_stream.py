"""The members of a tar stream (POSIX.1-2001, GNU tar), one after another, as GNU tar unpacks them.

Python's tarfile is made for archives that one trusts: with a header of a few bytes it runs for years or takes all
memory. Here, whatever a header claims is held against the :class:`.budget.Budget` of the archive.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from triton_ensembles.archive.budget import MOST_BYTES, ArchiveError, Budget
from triton_ensembles.archive.gzip_stream import GzipStream, Source

_BLOCK = 512
_FIELDS = struct.Struct("100s8s16x12s12s8sc100s8s80x155s12x")
_COST = 64  # what a pax record counts for, besides its own bytes
_SPARSE = "GNU.sparse."  # the beginning of the keys of a file without its holes, as `tar --sparse` stores it
_USED = frozenset((b"path", b"linkpath", b"size", b"mtime"))
_LONGEST_NUMBER = 20  # digits
_BUFFER = 1 << 17
_LARGEST_HEADER = 1 << 20  # bytes of one with a long name or pax records
_LONG_NAMES = {b"L": "path", b"K": "linkpath"}  # GNU tar's
_SHOWN = 200  # letters of a name
_RECORDS = (b"x", b"X")
_WITHOUT_DATA = b"123456"  # links, devices, folders and pipes


class BadHeaderError(ArchiveError):
    """There is no valid header where one belongs."""

    def __init__(self, why: str) -> None:
        super().__init__("archive-truncated", f"the tar data is damaged or breaks off ({why})")


@dataclass(slots=True)
class Member:
    """A file, folder or link. ``type``: b"0" for any form of file, b"5" for any of a folder. ``size`` is in bytes."""

    name: str
    mode: int
    size: int
    mtime: int
    type: bytes
    target: str

    @property
    def is_file(self) -> bool:
        return self.type == b"0"

    @property
    def is_folder(self) -> bool:
        return self.type == b"5"


class TarStream:
    """Iterates over the members of ``stream``, which ``budget`` counts; what is not read of one is skipped. Everything
    here raises :class:`ArchiveError`: the data is damaged or breaks off, or is more than ``budget`` allows."""

    def __init__(self, stream: Source, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._buffer = b""
        self._at = 0
        self._left = 0  # bytes of the current member's data that were not read
        self._padding = 0
        self._defaults: dict[str, str] = {}  # of a global pax header

    @classmethod
    def gzipped(cls, file: Source, budget: Budget | None = None) -> "TarStream":
        """Read a .tar.gz, with a budget of its own unless one is given."""
        budget = budget or Budget()
        return cls(GzipStream(file, budget), budget)

    def __iter__(self) -> Iterator[Member]:
        first = True
        while True:
            self._skip()
            block = self._block(may_end=not first)
            if not block or not block.strip(b"\0"):
                return
            member = self._member(block)
            self._budget.take_entry(member.name)
            yield member
            first = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` stored bytes of the current member, b"" at its end."""
        data = self._some(min(size, self._left)) if self._left else b""
        if self._left and not data:
            raise BadHeaderError("unexpected end of data")
        self._left -= len(data)
        return data

    def content(self) -> bytes:
        """The current member. It is held in memory: look at its size before."""
        return b"".join(iter(lambda: self.read(_BUFFER), b""))

    def drain(self) -> None:
        """Read to the end, where gzip has its checksum."""
        while self._stream.read(_BUFFER):
            pass

    def _member(self, block: bytes) -> Member:
        records: dict[str, str] = {}
        header = _parse_header(block)
        while True:
            if header.type in _LONG_NAMES:
                records[_LONG_NAMES[header.type]] = _text(self._extension(header).partition(b"\0")[0])
            elif header.type in _RECORDS:
                records |= _parse_records(self._extension(header), self._budget)
            elif header.type == b"g":
                self._defaults |= _parse_records(self._extension(header), self._budget)
            else:
                break
            header = _parse_header(self._block())
        return self._complete(header, self._defaults | records)

    def _complete(self, member: Member, records: dict[str, str]) -> Member:
        """The member of a header, with what pax records say of it."""
        if "size" in records:
            member.size = _decimal(records["size"])
        if not 0 <= member.size <= MOST_BYTES:
            raise ArchiveError("archive-bomb", f"a header of the tar data claims to be followed by {member.size} bytes")
        self._left = 0 if member.type in _WITHOUT_DATA else member.size
        self._padding = -self._left % _BLOCK
        name = records.get("path") or member.name
        if member.type == b"S" or any(key.startswith(_SPARSE) for key in records):
            name = records.get(f"{_SPARSE}name", name)[:_SHOWN]
            message = f"'{name}' is stored without its holes: pack it without tar -S"
            raise ArchiveError("archive-unreadable", message, "the archive is not checked, and the endpoint refuses it")
        member.name = name.rstrip("/") if member.is_folder else name
        member.target = records.get("linkpath") or member.target
        mtime = records.get("mtime", "").partition(".")[0]
        if mtime.isdigit():
            member.mtime = _decimal(mtime)
        return member

    def _extension(self, header: Member) -> bytes:
        """The content of a header that is about the next one."""
        if not 0 <= header.size <= _LARGEST_HEADER:
            raise ArchiveError("archive-bomb", f"a header of the tar data claims to be {header.size} bytes long")
        self._budget.take_header(_BLOCK + header.size)
        return b"".join(self._block() for _ in range(-(-header.size // _BLOCK)))[: header.size]

    def _block(self, *, may_end: bool = False) -> bytes:
        """The next block; b"" at the end of the data if it ``may_end`` here."""
        block = b""
        while len(block) < _BLOCK:
            piece = self._some(_BLOCK - len(block))
            if not piece and may_end and not block:
                return b""
            if not piece:
                raise BadHeaderError("unexpected end of data")
            block += piece
        return block

    def _skip(self) -> None:
        self._left += self._padding
        self._padding = 0
        while self.read(_BUFFER):
            pass

    def _some(self, most: int) -> bytes:
        """Up to ``most`` bytes, b"" only at the end."""
        if self._at >= len(self._buffer):
            self._buffer, self._at = self._stream.read(_BUFFER), 0
        data = self._buffer[self._at : self._at + most]
        self._at += len(data)
        return data


def _parse_header(block: bytes) -> Member:
    """Raises :class:`BadHeaderError`, also for a wrong checksum."""
    if len(block) < _BLOCK:
        raise BadHeaderError("a header breaks off")
    name, mode, size, mtime, checksum, type, target, magic, prefix = _FIELDS.unpack(block)
    written = _number(checksum)
    if written != sum(block) - sum(checksum) + 256:  # its own eight bytes count as blanks
        signed = sum(byte - 256 if byte > 127 else byte for byte in block[:148] + block[156:]) + 256
        if written != signed:
            raise BadHeaderError("bad checksum")
    path = _text(_until_nul(name))
    if magic.startswith(b"ustar\0") and prefix[0]:  # GNU tar has other things there
        path = f"{_text(_until_nul(prefix))}/{path}"
    if type in b"\x007":
        type = b"5" if type == b"\0" and path.endswith("/") else b"0"  # as tar had folders before POSIX
    return Member(path, _number(mode) & 0o7777, _number(size), _number(mtime), type, _text(_until_nul(target)))


def _parse_records(data: bytes, budget: Budget) -> dict[str, str]:
    """The records of a pax header about names, sizes, times and holes. Raises :class:`ArchiveError`."""
    records: dict[str, str] = {}
    at = 0
    while at < len(data) and data[at]:
        budget.take_header(_COST)
        digits = data[at : at + _LONGEST_NUMBER].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        key, equals, value = data[at + len(digits) + 1 : at + length - 1].partition(b"=")
        if not equals or not len(digits) < length <= len(data) - at:  # one of no length would be read for ever
            raise BadHeaderError("bad pax header")
        if key in _USED or key.startswith(_SPARSE.encode()):
            records[_text(key)] = _text(value)
        at += length
    return records


def _decimal(written: str) -> int:
    """The number in a pax record. Raises :class:`BadHeaderError`."""
    if not (written.isascii() and written.isdigit() and len(written) <= _LONGEST_NUMBER):
        raise BadHeaderError(f"bad number '{written[:_LONGEST_NUMBER]}'")
    return int(written)


def _text(data: bytes) -> str:
    """Names are UTF-8; other bytes survive as surrogates, as Python has them in the names of files."""
    return data.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=1024)  # modes and times are those of many members
def _number(field: bytes) -> int:
    """A number of a header: octal digits, or GNU tar's binary form. Raises :class:`BadHeaderError`."""
    if field[0] in (0x80, 0xFF):
        return int.from_bytes(field[1:], "big") - (1 << 8 * (len(field) - 1) if field[0] == 0xFF else 0)
    try:
        return int(_until_nul(field).strip() or b"0", 8)
    except ValueError:
        raise BadHeaderError("invalid header") from None


def _until_nul(field: bytes) -> bytes:
    return field.partition(b"\0")[0]
