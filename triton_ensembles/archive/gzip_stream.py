"""gzip decompressed as a stream with limits, so that a decompression bomb exhausts neither memory nor time."""

import io
import re
from typing import IO

from isal import isal_zlib

_CHUNK = 1 << 17  # the input not inflated yet is copied at every read, so keep it small
# deflate can reach 1032:1; models and Python environments reach 2:1 to 20:1.
HIGHEST_RATIO = 100
FREE_BYTES = 64 << 20  # bytes below which the ratio is not checked: a small archive of text may be denser
MOST_BYTES = 64 << 30  # of any archive, unpacked


class ArchiveError(Exception):
    """The archive cannot be read any further. ``rule`` is the id of the checker's rule that reports it."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(message)
        self.rule, self.message = rule, message


class GzipStream(io.RawIOBase):
    """A readable stream of the decompressed bytes of ``source``; raises :class:`ArchiveError`."""

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__()
        self._source = source
        self._inflate = isal_zlib.decompressobj(31)
        self._input = b""
        self._taken = 0
        self._made = 0
        self._members = 0
        self._made_in_member = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, fewer when less is available, b"" at the end."""
        wanted = _CHUNK if size < 0 else size
        while not self._ended:
            if not self._input and not self._fill():
                break
            try:
                made = self._inflate.decompress(self._input, wanted)
            except isal_zlib.error as error:  # type: ignore[misc]  # its type stubs have a variable there
                if self._members and not self._made_in_member:
                    self._ended = True  # gzip, too, ignores trailing bytes as padding
                    break
                if not self._made:
                    raise ArchiveError("archive-unreadable", "this is not a gzip file") from None
                reason = re.sub(r"^Error -?\d+ ", "", str(error)).lower()
                raise ArchiveError("archive-truncated", f"the gzip data is damaged ({reason})") from None
            self._input = self._inflate.unconsumed_tail
            self._made_in_member += len(made)
            self._count(len(made))
            if self._inflate.eof:
                self._next_member()
            if made:
                return made
        return b""

    def _fill(self) -> bool:
        self._input = self._source.read(_CHUNK)
        self._taken += len(self._input)
        if self._input:
            return True
        self._ended = True
        if self._members and not self._made_in_member:
            return False
        if not self._taken:
            raise ArchiveError("archive-unreadable", "the file is empty")
        raise ArchiveError("archive-truncated", "the gzip data breaks off before its end")

    def _next_member(self) -> None:
        """A gzip file may have several members in a row; zeros after the last are padding."""
        self._input = self._inflate.unused_data.lstrip(b"\0")
        self._inflate = isal_zlib.decompressobj(31)
        self._members += 1
        self._made_in_member = 0

    def _count(self, made: int) -> None:
        self._made += made
        if self._made > MOST_BYTES:
            raise ArchiveError("archive-bomb", f"it unpacks to more than {MOST_BYTES >> 30} GiB")
        if self._made > FREE_BYTES and self._made > self._taken * HIGHEST_RATIO:
            raise ArchiveError(
                "archive-bomb", f"it unpacks to more than {HIGHEST_RATIO} times its size, as a decompression bomb does"
            )
