"""Messages between two processes of one machine: they are in shared memory, and a pipe tells of them."""

import mmap
import os
import pickle
import select
import struct
from array import array
from typing import Any

_FIRST_SIZE = 1 << 20  # bytes
_KEPT_SIZE = 1 << 24  # of the memory after a message that needed more
_ALIGNMENT = 64
_NOTICE = struct.Struct("<QQQ")  # size of the memory, number of arrays, length of the pickle


class _End:
    """One end of a direction.

    Args:
        pipe: a descriptor; a notice goes through it for each message.
        descriptor: of the shared memory.
    """

    def __init__(self, pipe: int, descriptor: int) -> None:
        self._pipe, self.descriptor = pipe, descriptor
        self._size = 0
        self._memory = mmap.mmap(-1, 1)

    def close(self) -> None:
        """This end is the other process's, or that process has ended."""
        os.close(self._pipe)
        os.close(self.descriptor)

    def _map(self, size: int) -> None:
        # The old map stays until nothing refers to it.
        self._size, self._memory = size, mmap.mmap(self.descriptor, size)


class Sender(_End):
    """One direction of a channel, in the process that writes. Made before the fork, as is its :class:`Receiver`."""

    def send(self, message: Any) -> None:
        """Send a message, which overwrites the one before. Raises OSError if the other end is gone."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        views = [buffer.raw() for buffer in buffers]
        start = _aligned(8 * len(views) + len(head))
        places, end = [], start
        for view in views:
            places.append(end)
            end += _aligned(view.nbytes)
        if end > self._size:
            self._resize(max(_FIRST_SIZE, 2 * self._size, end))
        elif end <= _KEPT_SIZE < self._size:
            self._resize(_KEPT_SIZE)
        lengths = array("Q", [view.nbytes for view in views]).tobytes()
        self._memory[: len(lengths) + len(head)] = lengths + head
        for place, view in zip(places, views, strict=True):
            self._memory[place : place + view.nbytes] = view
        os.write(self._pipe, _NOTICE.pack(self._size, len(views), len(head)))

    def _resize(self, size: int) -> None:
        os.ftruncate(self.descriptor, size)
        self._map(size)


class Receiver(_End):
    """One direction of a channel, in the process that reads."""

    def __init__(self, pipe: int, descriptor: int) -> None:
        super().__init__(pipe, descriptor)
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)

    def poll(self, seconds: float) -> bool:
        """Whether there is a message, or the end, within this time."""
        return bool(self._poll.poll(seconds * 1000))

    def receive(self) -> Any:
        """The next message, whose arrays are valid until the one after it. Raises EOFError if the other end is gone."""
        notice = os.read(self._pipe, _NOTICE.size)
        if not notice:
            raise EOFError
        size, count, length = _NOTICE.unpack(notice)
        if size > self._size:
            self._map(size)
        view = memoryview(self._memory)
        lengths = view[: 8 * count].cast("Q")
        end = 8 * count + length
        head = view[8 * count : end]
        buffers = []
        for each in lengths:
            start = _aligned(end)
            end = start + each
            buffers.append(view[start:end])
        return pickle.loads(head, buffers=buffers)


def make_channel() -> tuple[Sender, Receiver]:
    """The two ends of one direction."""
    reading, writing = os.pipe()
    descriptor = os.memfd_create("fused")
    return Sender(writing, os.dup(descriptor)), Receiver(reading, descriptor)


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT
