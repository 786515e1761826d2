"""gzip decompressed as a stream with limits, so that a decompression bomb exhausts neither memory nor time."""

import re
from typing import Protocol

from isal import isal_zlib

from triton_ensembles.archive.budget import ArchiveError, Budget

_CHUNK = 1 << 17  # the input not inflated yet is copied at every read, so keep it small
_MAGIC = b"\x1f\x8b"
_MOST_MEMBERS = 100_000  # of gzip, one after another: each costs a decompressor


class Source(Protocol):
    """Source of a stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


class GzipStream:
    """A readable stream of the decompressed bytes of ``source``; raises :class:`ArchiveError`. ``inside``: ``source``
    is itself a part of what ``budget`` has counted."""

    def __init__(self, source: Source, budget: Budget, *, inside: bool = False) -> None:
        self._source = source
        self._budget = budget
        self._inside = inside
        self._inflate = isal_zlib.decompressobj(31)
        self._input = b""
        self._head = b""  # the first bytes, as many as the magic has
        self._members = 0
        self._made_in_member = 0
        self._ended = False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, fewer when less is available, b"" at the end."""
        while not self._ended:
            if not self._input and not self._fill():
                break
            try:
                inflated = self._inflate.decompress(self._input, size)
            except isal_zlib.error as error:  # type: ignore[misc]  # its type stubs have a variable there
                if self._members and not self._made_in_member:
                    self._ended = True  # gzip also ignores trailing bytes as padding
                    break
                if not self._made_in_member and not self._input.startswith(_MAGIC):
                    raise ArchiveError("archive-unreadable", "this is not a gzip file") from None
                reason = re.sub(r"^Error -?\d+ ", "", str(error)).lower()
                raise ArchiveError("archive-truncated", f"the gzip data is damaged ({reason})") from None
            self._input = self._inflate.unconsumed_tail
            self._made_in_member += len(inflated)
            self._budget.count(len(inflated))
            if self._inflate.eof:
                self._next_member()
            if inflated:
                return inflated
        return b""

    def _fill(self) -> bool:
        self._input = self._source.read(_CHUNK)
        self._head = (self._head + self._input[:2])[:2]
        if not self._inside:
            self._budget.taken += len(self._input)
        if self._input:
            return True
        self._ended = True
        if self._members and not self._made_in_member:
            return False
        if not self._head:
            raise ArchiveError("archive-unreadable", "the file is empty")
        if not _MAGIC.startswith(self._head):  # fewer bytes than a header has, of which zlib says nothing
            raise ArchiveError("archive-unreadable", "this is not a gzip file")
        raise ArchiveError("archive-truncated", "the gzip data breaks off before its end")

    def _next_member(self) -> None:
        """A gzip file may have several members in a row; zeros after the last are padding."""
        self._input = self._inflate.unused_data.lstrip(b"\0")
        self._inflate = isal_zlib.decompressobj(31)
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise ArchiveError("archive-bomb", f"it consists of more than {_MOST_MEMBERS} gzip files")
        self._made_in_member = 0
