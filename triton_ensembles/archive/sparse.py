"""Sparse members of tar archives (GNU tar --sparse, as it packs model files with holes), with limits.

tarfile reads their maps of data and holes to whatever length they claim.
"""

from __future__ import annotations

import tarfile
from typing import Any

from triton_ensembles.archive.gzip_stream import FREE_BYTES, HIGHEST_RATIO, ArchiveError

_MOST_PARTS = 100_000  # between the holes of one member
_PARTS_IN_BLOCK = 21


class SparseHeader(tarfile.TarInfo):
    """A header of tar whose sparse forms (old GNU, and 1.0 in pax headers) end, and are no bombs of zeros."""

    _sparse_structs: Any

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        made: Any = super()._proc_member(archive)  # type: ignore[misc]
        if made.sparse is not None:
            _check(made.name[:200], made.size, made.sparse)
        return made  # type: ignore[no-any-return]

    def _proc_sparse(self, archive: Any) -> tarfile.TarInfo:
        parts, more, size = self._sparse_structs
        del self._sparse_structs
        while more:
            block = archive.fileobj.read(tarfile.BLOCKSIZE)
            for start in range(0, _PARTS_IN_BLOCK * 24, 24):
                numbers = tarfile.nti(block[start : start + 12]), tarfile.nti(block[start + 12 : start + 24])  # type: ignore[attr-defined]
                if any(numbers):
                    parts.append(numbers)
            more = bool(block[504])
            _limit(self.name, len(parts))
        self.sparse: Any = parts
        self.offset_data = archive.fileobj.tell()
        archive.offset = self.offset_data + -(-self.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        self.size = size
        return self

    def _proc_gnusparse_10(self, member: Any, _: object, archive: Any) -> None:
        numbers: list[int] = []
        rest = b""
        wanted = 1
        while len(numbers) < wanted:
            if b"\n" not in rest:
                rest += archive.fileobj.read(tarfile.BLOCKSIZE)
            number, rest = rest.split(b"\n", 1)
            numbers.append(int(number))
            wanted = 1 + 2 * numbers[0]
            _limit(member.name, numbers[0])
        member.offset_data = archive.fileobj.tell()
        member.sparse = list(zip(numbers[1::2], numbers[2::2], strict=True))


def _check(name: str, size: int, parts: list[tuple[int, int]]) -> None:
    position = 0
    for offset, count in parts:
        if count == 0:  # old GNU headers are filled up with these
            continue
        if offset < position or count < 0 or offset + count > size:
            raise ArchiveError("archive-truncated", f"the map of the sparse file '{name}' is damaged")
        position = offset + count
    if size > sum(count for _, count in parts) * HIGHEST_RATIO + FREE_BYTES:
        raise ArchiveError("archive-bomb", f"the sparse file '{name}' claims to be {size} bytes long")


def _limit(name: str, parts: int) -> None:
    if parts > _MOST_PARTS:
        raise ArchiveError("archive-bomb", f"the sparse file '{name[:200]}' has more than {_MOST_PARTS} parts")
