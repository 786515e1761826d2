"""The members of a tar stream, one after another, as GNU tar unpacks them.

Python's tarfile is made for archives that one trusts: with a header of a few bytes it runs for years or takes all
memory. Here, whatever a header claims is held against the :class:`.budget.Budget` of the archive.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from triton_ensembles.archive.budget import MOST_BYTES, ArchiveError, Budget
from triton_ensembles.archive.gzip_stream import GzipStream
from triton_ensembles.archive.tar_header import (
    BLOCK,
    SPARSE,
    BadHeaderError,
    Header,
    decimal,
    parse_header,
    parse_records,
    text,
)

_BUFFER = 1 << 17
_LARGEST_HEADER = 1 << 20  # bytes of one with a long name or pax records
_LONG_NAMES = {b"L": "path", b"K": "linkpath"}  # GNU tar's
_SHOWN = 200  # letters of a name
_RECORDS = (b"x", b"X")
_WITHOUT_DATA = b"123456"  # links, devices, folders and pipes


@dataclass(slots=True)
class Member:
    """A file, folder or link. ``type`` is tar's: b"0" for a file, b"5" for a folder; ``size`` is in bytes."""

    name: str
    type: bytes
    size: int
    mode: int
    mtime: int
    target: str

    @property
    def is_file(self) -> bool:
        return self.type == b"0"

    @property
    def is_folder(self) -> bool:
        return self.type == b"5"


class TarStream:
    """Iterates over the members of ``stream``; what is not read of one is skipped. Everything here raises
    :class:`ArchiveError`: the data is damaged or breaks off, or is more than ``budget`` allows."""

    def __init__(self, stream: GzipStream, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._buffer = b""
        self._at = 0
        self._left = 0  # bytes of the current member's data that were not read
        self._padding = 0
        self._defaults: dict[str, str] = {}  # of a global pax header

    def __iter__(self) -> Iterator[Member]:
        first = True
        while True:
            self._skip()
            block = self._block(may_end=not first)
            if not block or not block.strip(b"\0"):
                return
            yield self._member(block)
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
        header = parse_header(block)
        while True:
            if header.type in _LONG_NAMES:
                records[_LONG_NAMES[header.type]] = text(self._extension(header).partition(b"\0")[0])
            elif header.type in _RECORDS:
                records |= parse_records(self._extension(header), self._budget)
            elif header.type == b"g":
                self._defaults |= parse_records(self._extension(header), self._budget)
            else:
                break
            header = parse_header(self._block())
        return self._complete(header, self._defaults | records)

    def _complete(self, header: Header, records: dict[str, str]) -> Member:
        size = decimal(records["size"]) if "size" in records else header.size
        if not 0 <= size <= MOST_BYTES:
            raise ArchiveError("archive-bomb", f"a header of the tar data claims to be followed by {size} bytes")
        self._left = 0 if header.type in _WITHOUT_DATA else size
        self._padding = -self._left % BLOCK
        name = records.get("path") or header.name
        if header.type == b"S" or any(key.startswith(SPARSE) for key in records):
            name = records.get(f"{SPARSE}name", name)[:_SHOWN]
            message = f"'{name}' is stored without its holes: pack it without tar -S"
            raise ArchiveError("archive-unreadable", message, "the archive is not checked, and the endpoint refuses it")
        mtime = records.get("mtime", "").partition(".")[0]
        return Member(
            name.rstrip("/") if header.type == b"5" else name,
            header.type,
            size,
            header.mode & 0o7777,
            decimal(mtime) if mtime.isdigit() else header.mtime,
            records.get("linkpath") or header.target,
        )

    def _extension(self, header: Header) -> bytes:
        """The content of a header that is about the next one."""
        if not 0 <= header.size <= _LARGEST_HEADER:
            raise ArchiveError("archive-bomb", f"a header of the tar data claims to be {header.size} bytes long")
        self._budget.take_header(BLOCK + header.size)
        return b"".join(self._block() for _ in range(-(-header.size // BLOCK)))[: header.size]

    def _block(self, *, may_end: bool = False) -> bytes:
        """The next block; b"" at the end of the data if it ``may_end`` here."""
        block = self._some(BLOCK)
        while len(block) < BLOCK:
            more = self._some(BLOCK - len(block))
            if not more:
                if may_end and not block:
                    return b""
                raise BadHeaderError("unexpected end of data")
            block += more
        return block

    def _skip(self) -> None:
        remaining = self._left + self._padding
        self._left = self._padding = 0
        while remaining:
            skipped = len(self._some(remaining))
            if not skipped:
                raise BadHeaderError("unexpected end of data")
            remaining -= skipped

    def _some(self, most: int) -> bytes:
        """Up to ``most`` bytes, b"" only at the end."""
        if self._at >= len(self._buffer):
            self._buffer, self._at = self._stream.read(_BUFFER), 0
        data = self._buffer[self._at : self._at + most]
        self._at += len(data)
        return data
