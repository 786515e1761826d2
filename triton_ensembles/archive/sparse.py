"""Where the bytes of a sparse file belong: GNU tar (``--sparse``) leaves out its holes, in one of four formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from triton_ensembles.archive.budget import Budget
from triton_ensembles.archive.tar_header import BLOCK, BadHeaderError, decimal, number

Segments = list[tuple[int, int]]  # (offset in the file, bytes), in the order in which they are stored
_COST = 64  # what a segment counts for among the headers


def is_pax_sparse(records: Mapping[str, str]) -> bool:
    return any(key.startswith("GNU.sparse.") for key in records)


def gnu_segments(block: bytes, read_block: Callable[[], bytes], budget: Budget) -> tuple[int, Segments]:
    """The size and the segments of a file whose header is ``block``, of type S; ``read_block`` reads on."""
    numbers, more = _pairs(block[386:482]), block[482] != 0
    while more:
        extension = read_block()
        budget.take_header(BLOCK)
        numbers += _pairs(extension[:504])
        more = extension[504] != 0
    return number(block[483:495]), _segments(iter(numbers), budget)


def pax_segments(
    records: Mapping[str, str], read_block: Callable[[], bytes], budget: Budget
) -> tuple[int, Segments, int]:
    """The size, the segments, and the bytes that the map of them takes where it is stored before the data."""
    if "GNU.sparse.map" in records:  # formats 0.0 and 0.1
        size = decimal(records.get("GNU.sparse.size", records.get("GNU.sparse.realsize", "")))
        return size, _segments(map(decimal, filter(None, records["GNU.sparse.map"].split(","))), budget), 0
    if (records.get("GNU.sparse.major"), records.get("GNU.sparse.minor")) != ("1", "0"):
        raise BadHeaderError("unknown format of sparse files")
    lines = _Lines(read_block, budget)
    count = next(lines)
    segments = _segments((next(lines) for _ in range(2 * count)), budget)
    return decimal(records.get("GNU.sparse.realsize", "")), segments, lines.taken


class _Lines(Iterator[int]):
    """The decimal numbers, one a line, at the beginning of a file's data."""

    def __init__(self, read_block: Callable[[], bytes], budget: Budget) -> None:
        self.taken = 0
        self._read_block = read_block
        self._budget = budget
        self._rest = b""

    def __next__(self) -> int:
        while b"\n" not in self._rest:
            self._budget.take_header(BLOCK)
            if len(self._rest) > BLOCK:
                raise BadHeaderError("bad map of a sparse file")
            self._rest += self._read_block()
            self.taken += BLOCK
        line, _, self._rest = self._rest.partition(b"\n")
        return decimal(line.decode("latin-1"))


def _pairs(data: bytes) -> list[int]:
    """The offsets and lengths in a header; an empty field ends them."""
    fields = [data[at : at + 12] for at in range(0, len(data) - 11, 12)]
    used = next((at for at, field in enumerate(fields) if not field[0]), len(fields))
    return [number(field) for field in fields[:used]]


def _segments(numbers: Iterator[int], budget: Budget) -> Segments:
    segments: Segments = []
    end = 0
    for offset, length in zip(numbers, numbers, strict=False):
        budget.take_header(_COST)
        if offset < end or length < 0:
            raise BadHeaderError("bad map of a sparse file")
        end = offset + length
        segments.append((offset, length))
    return segments
