"""What of an archive is in S3 already, as part of another archive, and what has to be sent."""

from collections.abc import Iterable
from dataclasses import dataclass

from triton_ensembles.archive.gzip_members import Members
from triton_ensembles.deploy.archives import Archive

LEAST_PART = 5 << 20  # bytes: S3's limit for every part of a multipart upload but the last
SHORTEST_COPY = 64 << 10  # bytes; what is shorter is sent: copying takes up to eight requests
_MOST_STEPS = 32  # of copying short pieces; with more of them, only longer ones are copied


@dataclass(frozen=True)
class Send:
    """Bytes of the archive's file."""

    start: int
    length: int


@dataclass(frozen=True)
class Copy:
    """Bytes of another archive, which is in S3 under ``key``."""

    key: str
    start: int
    length: int


Piece = Send | Copy


class Shared:
    """The members of archives that are in S3, or will be."""

    def __init__(self) -> None:
        self._places: dict[tuple[bytes, int], tuple[str, int]] = {}

    def pieces(self, archive: Archive, members: Members) -> list[Piece]:
        """The archive from its beginning to its end, in as few pieces as are worth it.

        One piece where no other archive has as much in common with it as a part of an upload must have.
        """
        least = SHORTEST_COPY
        while True:
            pieces = self._joined(members, least)
            if not any(isinstance(each, Copy) and each.length >= LEAST_PART for each in pieces):
                return [Send(0, archive.size)]
            if sum(each.length < LEAST_PART for each in pieces) <= _MOST_STEPS:
                return pieces
            least *= 2

    def add(self, archive: Archive, members: Members) -> None:
        """From now on, other archives may be made from this one."""
        for each in members.members:
            self._places.setdefault((each.digest, each.length), (archive.key, each.start))

    def _joined(self, members: Members, least: int) -> list[Piece]:
        """What lies side by side becomes one piece. Copies of less than ``least`` bytes become what is sent."""
        copies: list[Piece] = []
        for each in members.members:
            place = self._places.get((each.digest, each.length))
            found = Copy(*place, each.length) if place else Send(each.start, each.length)
            _append(copies, found)
        pieces: list[Piece] = []
        at = 0
        for piece in copies:
            sends_much = bool(pieces) and isinstance(pieces[-1], Send) and pieces[-1].length >= LEAST_PART
            is_short = piece.length < (LEAST_PART if sends_much else least)
            _append(pieces, Send(at, piece.length) if is_short else piece)
            at += piece.length
        return pieces


def _append(pieces: list[Piece], piece: Piece) -> None:
    last = pieces[-1] if pieces else None
    beside = last is not None and last.start + last.length == piece.start
    if beside and isinstance(last, Send) and isinstance(piece, Send):
        pieces[-1] = Send(last.start, last.length + piece.length)
    elif beside and isinstance(last, Copy) and isinstance(piece, Copy) and last.key == piece.key:
        pieces[-1] = Copy(last.key, last.start, last.length + piece.length)
    else:
        pieces.append(piece)


def sent(pieces: Iterable[Piece]) -> int:
    """How many bytes of an archive in these pieces go over the wire."""
    return sum(each.length for each in pieces if isinstance(each, Send))
