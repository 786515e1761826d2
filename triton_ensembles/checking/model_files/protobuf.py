"""The fields of a protobuf message, read from front to back; what nobody asks for is skipped.

Source: protobuf.dev, "Encoding". Groups, which no model format uses, count as malformed.
"""

from collections.abc import Iterator
from typing import IO

_BLOCK = 1 << 16
_LONGEST_TEXT = 4096  # bytes of a name; longer ones are cut
MOST_FIELDS = 400_000  # of all the files of a repository: one second


class MalformedError(Exception):
    """The bytes are no protobuf message, or one whose field of this number continues after the end of the file."""

    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        self.number = number


class TooLargeError(Exception):
    """The message has more fields than the checker looks at."""


class Budget:
    """How many fields may still be read; shared by the files of a repository."""

    def __init__(self, fields: int = MOST_FIELDS) -> None:
        self.left = fields

    def spend(self, fields: int = 1) -> None:
        self.left -= fields
        if self.left < 0:
            raise TooLargeError

    @property
    def is_plenty(self) -> bool:
        """Return whether something that is not always needed may also be read."""
        return self.left > MOST_FIELDS // 2


class Message:
    """A position in a file of ``size`` bytes, of which ``head`` was read already.

    A file on disk is seeked in, a member of an archive (``on_disk`` false) read to the end of what is skipped.

    Each field must be read, if at all, before the next one is requested.
    """

    def __init__(self, file: IO[bytes], size: int, budget: Budget, head: bytes, *, on_disk: bool) -> None:
        self.size = size
        self._file = file
        self.budget = budget
        self._on_disk = on_disk
        self._block = head
        self._start = 0  # of the block, in the file
        self._next = 0  # in the block

    @property
    def at(self) -> int:
        return self._start + self._next

    def fields(self, end: int) -> Iterator[tuple[int, int]]:
        """The number of each field up to ``end``, and its value (a varint) or the end of its bytes."""
        while self.at < end:
            self.budget.spend()
            key = self._varint()
            number, wire = key >> 3, key & 7
            if number == 0:
                raise MalformedError
            if wire == 0:
                yield number, self._varint()
                continue
            length = {1: 8, 5: 4}.get(wire)
            if length is None:
                if wire != 2:
                    raise MalformedError
                length = self._varint()
            stop = self.at + length
            if stop > end:
                raise MalformedError(number if end == self.size else 0)
            yield number, stop
            self._go_to(stop)
        if self.at > end:
            raise MalformedError

    def each(self, end: int, *numbers: int) -> Iterator[int]:
        """As :meth:`fields`, of those of these numbers."""
        return (value for number, value in self.fields(end) if number in numbers)

    def text(self, end: int) -> str:
        """The text of a field, at most as much as a name has."""
        length = min(end - self.at, _LONGEST_TEXT)
        data = b""
        while len(data) < length:
            if self._next == len(self._block):
                self._read()
            part = self._block[self._next : self._next + length - len(data)]
            self._next += len(part)
            data += part
        return data.decode("utf-8", "replace")

    def texts(self, end: int, *numbers: int) -> tuple[str, ...]:
        """The texts of the fields of these numbers, "" for one that is not given; the last one counts."""
        texts = dict.fromkeys(numbers, "")
        texts.update((number, self.text(value)) for number, value in self.fields(end) if number in numbers)
        return tuple(texts.values())

    def number(self, end: int, field: int, missing: int = 0) -> int:
        """The int64 of the field of this number."""
        last = missing
        for value in self.each(end, field):
            last = signed(value)
        return last

    def _varint(self) -> int:
        value = shift = 0
        while shift < 70:
            if self._next == len(self._block):
                self._read()
            byte = self._block[self._next]
            self._next += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise MalformedError

    def _read(self) -> None:
        self._start += len(self._block)
        self._next = 0
        self._block = self._file.read(_BLOCK)
        if not self._block:
            raise MalformedError

    def _go_to(self, position: int) -> None:
        while not self._on_disk and position > self._start + len(self._block):
            self._read()
        if position <= self._start + len(self._block):
            self._next = position - self._start
            return
        self._file.seek(position)
        self._start, self._next, self._block = position, 0, b""


def signed(value: int) -> int:
    """An int64 of its varint."""
    return value - 2**64 if value >= 2**63 else value
