"""Messages between two processes of one machine: they are in shared memory, and a pipe tells of them.

A message has plain values, written by marshal, and arrays. Between two messages an engine has run through memory, so
that what counts is how little code and data is touched: pickle took three times as long.
"""

from __future__ import annotations

import marshal
import mmap
import os
import select
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from triton_ensembles.runtime.backends.common.batching import Array

_FIRST_SIZE = 1 << 20  # bytes
_KEPT_SIZE = 1 << 24  # of the memory after a message that needed more
_ALIGNMENT = 64
_NOTICE = struct.Struct("<QQ")  # size of the memory, length of the values


class End:
    """An end of a direction: a pipe for the notices of messages, and the descriptor of the shared memory."""

    def __init__(self, pipe: int, descriptor: int) -> None:
        self._pipe, self.descriptor = pipe, descriptor
        self.descriptors = pipe, descriptor
        self._size = 0
        self._memory = mmap.mmap(-1, 1)

    def close(self) -> None:
        """Close this end: it is the other process's, or that process has ended."""
        os.close(self._pipe)
        os.close(self.descriptor)

    def _map(self, size: int) -> None:
        # The old map stays until nothing refers to it.
        self._size, self._memory = size, mmap.mmap(self.descriptor, size)


class Sender(End):
    """The direction of a channel, in the process that writes. Made before the fork, as is its :class:`Receiver`."""

    def send(self, values: Any, arrays: Sequence[Array] = ()) -> None:
        """Send a message, which overwrites the one before: ``values`` that marshal can write, and arrays, of bytes
        objects for strings. Raises OSError if the other end is gone."""
        kinds: list[Any] = []
        for array in arrays:
            text = array.dtype.hasobject
            content = array.reshape(-1).tolist() if text else array.nbytes
            kinds.append((None if text else array.dtype.str, array.shape, content))
        head = marshal.dumps((values, kinds))
        end = length = len(head)
        for array_kind in kinds:
            if array_kind[0]:
                end = _aligned(end) + array_kind[2]
        if end > self._size:
            self._resize(max(_FIRST_SIZE, 2 * self._size, end))
        elif end <= _KEPT_SIZE < self._size:
            self._resize(_KEPT_SIZE)
        self._memory[:length] = head
        end = length
        for (kind, shape, size), array in zip(kinds, arrays, strict=True):
            if kind:
                start = _aligned(end)
                end = start + size
                np.ndarray(shape, kind, self._memory, start)[...] = array
        os.write(self._pipe, _NOTICE.pack(self._size, length))

    def _resize(self, size: int) -> None:
        os.ftruncate(self.descriptor, size)
        self._map(size)


class Receiver(End):
    """The direction of a channel, in the process that reads."""

    def __init__(self, pipe: int, descriptor: int) -> None:
        super().__init__(pipe, descriptor)
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLIN)

    def poll(self, seconds: float) -> bool:
        """Return whether there is a message, or the end, within this time."""
        return bool(self._poll.poll(seconds * 1000))

    def receive(self) -> tuple[Any, list[Array]]:
        """The next message, whose arrays are valid until the one after it. Raises EOFError if the other end is gone."""
        notice = os.read(self._pipe, _NOTICE.size)
        if not notice:
            raise EOFError
        size, length = _NOTICE.unpack(notice)
        if size > self._size:
            self._map(size)
        values, kinds = marshal.loads(self._memory[:length])
        arrays: list[Array] = []
        end = length
        for kind, shape, content in kinds:
            if kind:
                start = _aligned(end)
                end = start + content
                arrays.append(np.ndarray(shape, kind, self._memory, start))
            else:
                strings = np.empty(len(content), np.object_)
                strings[:] = content
                arrays.append(strings.reshape(shape))
        return values, arrays


def make_channel() -> tuple[Sender, Receiver]:
    """The two ends of one direction."""
    reading, writing = os.pipe()
    descriptor = os.memfd_create("fused")
    return Sender(writing, os.dup(descriptor)), Receiver(reading, descriptor)


class WorkerEnds(NamedTuple):
    """The ends that a worker has of its channels to the stub, and the file of the byte that says which step runs."""

    questions: Receiver
    answers: Sender
    calls: Sender
    replies: Receiver
    step_file: int

    @classmethod
    def from_fds(cls, fds: Sequence[int]) -> WorkerEnds:
        """Open those whose descriptors :meth:`fds` gave, in another process."""
        questions, answers, calls, replies = (fds[place : place + 2] for place in range(0, 8, 2))
        return cls(Receiver(*questions), Sender(*answers), Sender(*calls), Receiver(*replies), fds[8])

    def fds(self) -> list[int]:
        """Return their descriptors: of each, a pipe and a memory."""
        ends = (self.questions, self.answers, self.calls, self.replies)
        return [*(descriptor for end in ends for descriptor in end.descriptors), self.step_file]

    def close(self) -> None:
        """Close the four in the stub, which does not use them."""
        for end in (self.questions, self.answers, self.calls, self.replies):
            end.close()


def _aligned(length: int) -> int:
    return -(-length // _ALIGNMENT) * _ALIGNMENT
