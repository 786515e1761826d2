"""Messages between two processes of one machine: a small pickle through a pipe, the arrays through shared memory."""

import mmap
import os
import pickle
from multiprocessing.connection import Connection, Pipe
from typing import Any

_FIRST_SIZE = 1 << 20  # bytes
_ALIGNMENT = 64


class Sender:
    """One direction of a channel, in the process that writes. Made before the fork, as is its :class:`Receiver`."""

    def __init__(self, connection: Connection, descriptor: int) -> None:
        self._connection, self._descriptor = connection, descriptor
        self._size = 0
        self._memory = mmap.mmap(-1, 1)

    def send(self, message: Any) -> None:
        """Send a message; its arrays overwrite those of the message before. Raises OSError if the other end is gone."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        places, end = [], 0
        for buffer in buffers:
            length = buffer.raw().nbytes
            places.append((end, length))
            end += -(-length // _ALIGNMENT) * _ALIGNMENT
        if end > self._size:
            self._grow(end)
        for (start, length), buffer in zip(places, buffers, strict=True):
            self._memory[start : start + length] = buffer.raw()
        self._connection.send_bytes(pickle.dumps((self._size, places, head), protocol=5))

    def close(self) -> None:
        """The other process is the one that writes."""
        self._connection.close()

    def _grow(self, needed: int) -> None:
        self._size = max(_FIRST_SIZE, 2 * self._size, needed)
        os.ftruncate(self._descriptor, self._size)
        # The old map stays until nothing refers to it.
        self._memory = mmap.mmap(self._descriptor, self._size)


class Receiver:
    """One direction of a channel, in the process that reads."""

    def __init__(self, connection: Connection, descriptor: int) -> None:
        self._connection, self._descriptor = connection, descriptor
        self._size = 0
        self._memory: mmap.mmap | None = None

    def poll(self, seconds: float) -> bool:
        """Whether there is a message, or the end."""
        return self._connection.poll(seconds)

    def close(self) -> None:
        """The other process is the one that reads."""
        self._connection.close()

    def receive(self) -> Any:
        """The next message, whose arrays are valid until the one after it. Raises EOFError if the other end is gone."""
        size, places, head = pickle.loads(self._connection.recv_bytes())
        if size > self._size:
            self._size, self._memory = size, mmap.mmap(self._descriptor, size)
        view = memoryview(self._memory or b"")
        return pickle.loads(head, buffers=[view[start : start + length] for start, length in places])


def make_channel() -> tuple[Sender, Receiver]:
    """The two ends of one direction."""
    reading, writing = Pipe(duplex=False)
    descriptor = os.memfd_create("fused")
    return Sender(writing, descriptor), Receiver(reading, descriptor)
