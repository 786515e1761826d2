"""The tar header of a member that has another name in every clone: all but the name is made once."""

import tarfile
from copy import copy

# Of ustar, in bytes: the name comes first; then, among others, the sum of all.
_NAME = 100
_SUM = slice(148, 156)


class RenamedHeader:
    """The header of ``info`` with other names and sizes, as :meth:`tarfile.TarInfo.tobuf` makes it."""

    def __init__(self, info: tarfile.TarInfo) -> None:
        self._info = info
        self._size = info.size
        self._rest: bytes | None = None  # None: it needs more than one block
        header = self._made("x", info.size)
        if len(header) == tarfile.BLOCKSIZE:
            self._rest = header[_NAME:]
            self._rest_sum = sum(header[_NAME:]) - sum(header[_SUM]) + 8 * ord(" ")

    def of(self, name: str, size: int) -> bytes:
        """Both of the member in the clone; the size is in bytes."""
        written = f"{name}/" if self._info.isdir() else name
        if self._rest is None or size != self._size or len(written) > _NAME or not written.isascii():
            return self._made(name, size)
        encoded = written.encode()
        total = b"%06o\0 " % (self._rest_sum + sum(encoded))
        start, stop = _SUM.start - _NAME, _SUM.stop - _NAME
        return encoded.ljust(_NAME, b"\0") + self._rest[:start] + total + self._rest[stop:]

    def _made(self, name: str, size: int) -> bytes:
        info = copy(self._info)
        info.name, info.size = name, size
        return info.tobuf(tarfile.PAX_FORMAT)
