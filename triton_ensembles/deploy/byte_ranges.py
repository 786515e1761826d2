"""The byte ranges that an archive in S3 is made of: of its file, which are sent, and of objects, which S3 copies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from triton_ensembles.archive.gzip_members import GzipMember
from triton_ensembles.deploy.archives import Archive

LEAST_PART = 5 << 20  # bytes: S3's limit for every part of a multipart upload but the last
PART = 16 << 20  # bytes: what a part that is sent usually has
SHORTEST_COPY = 64 << 10  # bytes; what is shorter is sent: copying takes up to eight requests
_MOST_STEPS = 32  # of copying short ranges; with more of them, only longer ones are copied


@dataclass(frozen=True)
class FileRange:
    """Bytes of the archive's file."""

    start: int
    length: int


@dataclass(frozen=True)
class ObjectRange:
    """Bytes of an object in the same bucket; with an ``etag``, only as long as the object has that."""

    key: str
    start: int
    length: int
    etag: str = ""


ByteRange = FileRange | ObjectRange


class SharedMembers:
    """The gzip members of archives that are in S3, or will be."""

    def __init__(self) -> None:
        self._places: dict[tuple[bytes, int], tuple[str, int]] = {}

    def ranges(self, archive: Archive, members: Sequence[GzipMember]) -> list[ByteRange]:
        """The archive from its beginning to its end, in as few ranges as are worth it; objects by their relative keys.

        One range where no other archive has as much in common with it as a part of an upload must have.
        """
        least = SHORTEST_COPY
        while True:
            ranges = self._joined(members, least)
            if not any(isinstance(part, ObjectRange) and part.length >= LEAST_PART for part in ranges):
                return [FileRange(0, archive.size)]
            if sum(part.length < LEAST_PART for part in ranges) <= _MOST_STEPS:
                return ranges
            least *= 2

    def add(self, archive: Archive, members: Sequence[GzipMember]) -> None:
        """From now on, other archives may be made from this one."""
        for member in members:
            self._places.setdefault((member.digest, member.length), (archive.key, member.start))

    def _joined(self, members: Sequence[GzipMember], least: int) -> list[ByteRange]:
        """Neighbors become one range. Copies of less than ``least`` bytes become what is sent."""
        copies: list[ByteRange] = []
        for member in members:
            place = self._places.get((member.digest, member.length))
            _append(copies, ObjectRange(*place, member.length) if place else FileRange(member.start, member.length))
        ranges: list[ByteRange] = []
        start = 0
        for part in copies:
            follows_long = bool(ranges) and isinstance(ranges[-1], FileRange) and ranges[-1].length >= LEAST_PART
            is_short = part.length < (LEAST_PART if follows_long else least)
            _append(ranges, FileRange(start, part.length) if is_short else part)
            start += part.length
        return ranges


def _append(ranges: list[ByteRange], part: ByteRange) -> None:
    last = ranges[-1] if ranges else None
    is_beside = last is not None and last.start + last.length == part.start
    if is_beside and isinstance(last, FileRange) and isinstance(part, FileRange):
        ranges[-1] = FileRange(last.start, last.length + part.length)
    elif is_beside and isinstance(last, ObjectRange) and isinstance(part, ObjectRange) and last.key == part.key:
        ranges[-1] = ObjectRange(last.key, last.start, last.length + part.length)
    else:
        ranges.append(part)


def bytes_sent(ranges: Iterable[ByteRange]) -> int:
    """The number of bytes of an archive in these ranges that go over the wire."""
    return sum(part.length for part in ranges if isinstance(part, FileRange))
