"""A connection of HTTP/2 (RFC 9113) that carries one unary gRPC call after the other.

Small because it does one thing: no call waits behind another on the same connection, so there is one stream at a time,
and what is left of it is a frame's head and the windows. gRPC's own client takes three times the processor time of a
call (docs/gateway.md), most of it for passing the answer from its threads to the event loop.
"""

import asyncio
import struct
from collections.abc import Mapping
from typing import cast
from urllib.parse import unquote

from triton_ensembles.gateway import hpack

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM = _ACK = 0x1
_END_HEADERS = 0x4
_EXTRAS = 0x28  # PADDED, PRIORITY: gRPC has none
_HEADER_TABLE_SIZE, _ENABLE_PUSH, _INITIAL_WINDOW_SIZE, _MAX_FRAME_SIZE = 1, 2, 4, 5
_LONGEST_FRAME = 16384  # bytes, until the peer allows more
_FIRST_WINDOW = 65535  # bytes that may be on their way until the peer says how many
_LARGEST_WINDOW = 2**31 - 1
_REFUSED_STREAM, _CANCEL = 7, 8  # codes of errors
_LAST_STREAM = 2**31 - 3

OK, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, RESOURCE_EXHAUSTED, INTERNAL = 0, 2, 3, 4, 5, 8, 13
UNAVAILABLE = 14


class RpcError(Exception):
    """The call failed: a status of gRPC that is not OK, and its message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Lost(RpcError):  # noqa: N818 - what happened to the connection
    """The connection ended.

    Args:
        message: why.
        unseen: whether the server surely has not begun with the call, so that another connection may carry it.
    """

    def __init__(self, message: str, *, unseen: bool = False) -> None:
        super().__init__(UNAVAILABLE, message)
        self.unseen = unseen


class Connection(asyncio.Protocol):
    """The client's side. When a call is given up, its connection is not ``reusable``."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._greeted = False
        self._longest_frame, self._first_window = _LONGEST_FRAME, _FIRST_WINDOW
        self._window = _FIRST_WINDOW  # of the connection: what may still be sent
        self._consumed = 0  # of the peer's window
        self._next_stream = 1
        self._leaving = False  # the server takes no more calls here
        # the call under way
        self._stream = 0
        self._answer: asyncio.Future[bytes] | None = None
        self._unsent = memoryview(b"")
        self._stream_window = 0
        self._message: list[bytes] = []
        self._block = bytearray()  # of headers
        self._ends = False  # with these headers

    @property
    def reusable(self) -> bool:
        """Whether it is open, idle, and takes another call."""
        return self._stream == 0 and not (self._leaving or self._transport.is_closing())

    def call(self, headers: bytes, message: bytes) -> asyncio.Future[bytes]:
        """Send a message under a block of ``headers``.

        The future is of the answer's message. It raises :class:`RpcError`.
        """
        self._answer = asyncio.get_running_loop().create_future()
        if self._leaving or self._transport.is_closing():
            self._fail(Lost("the connection is closed", unseen=True))
            return self._answer
        self._stream, self._next_stream = self._next_stream, self._next_stream + 2
        self._leaving = self._next_stream > _LAST_STREAM
        self._stream_window, self._message = self._first_window, []
        self._unsent = memoryview(b"".join((b"\0", len(message).to_bytes(4, "big"), message)))
        self._send(_frame(_HEADERS, _END_HEADERS, self._stream, headers))
        return self._answer

    def close(self) -> None:
        """At once. The server cancels the call under way."""
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        settings = (_HEADER_TABLE_SIZE, 0, _ENABLE_PUSH, 0, _INITIAL_WINDOW_SIZE, _LARGEST_WINDOW)
        ours = struct.pack(">HIHIHIHI", *settings, _MAX_FRAME_SIZE, 2**24 - 1)
        wider = (_LARGEST_WINDOW - _FIRST_WINDOW).to_bytes(4, "big")
        self._transport.write(_PREFACE + _frame(_SETTINGS, 0, 0, ours) + _frame(_WINDOW_UPDATE, 0, 0, wider))

    def connection_lost(self, exception: Exception | None) -> None:
        self._fail(Lost(f"the connection broke{f': {exception}' if exception else ''}"))

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        at, size = 0, len(received)
        try:
            while size - at >= 9:
                end = at + 9 + int.from_bytes(received[at : at + 3], "big")
                if not self._greeted and received[at + 3] != _SETTINGS:
                    raise ValueError("the server does not speak HTTP/2")
                if end > size:
                    break
                stream = int.from_bytes(received[at + 5 : at + 9], "big")
                self._take(received[at + 3], received[at + 4], stream, bytes(memoryview(received)[at + 9 : end]))
                at = end
        except (ValueError, struct.error) as error:
            self._fail(Lost(str(error)))
            self.close()
        del received[:at]

    def _take(self, kind: int, flags: int, stream: int, content: bytes) -> None:
        if stream == 0:
            self._take_of_connection(kind, flags, content)
        elif kind in (_DATA, _HEADERS) and flags & _EXTRAS:
            raise ValueError("the server pads its frames, which gRPC does not")
        elif kind == _DATA:
            self._consume(len(content))
            if stream == self._stream:
                self._message.append(content)
        elif stream != self._stream:
            pass  # what is left of a call that has been answered
        elif kind in (_HEADERS, _CONTINUATION):
            if kind == _HEADERS:
                self._ends = bool(flags & _END_STREAM)
            self._block += content
            if flags & _END_HEADERS:
                block = bytes(self._block)
                self._block.clear()
                if self._ends:
                    self._finish(hpack.decode(block))
        elif kind == _WINDOW_UPDATE:
            self._stream_window += int.from_bytes(content, "big")
            self._send()
        elif kind == _RST_STREAM:
            code = int.from_bytes(content, "big")
            if code == _REFUSED_STREAM:
                self._fail(Lost("the server refused the call", unseen=True))
            else:
                self._fail(RpcError(INTERNAL, f"the server reset the call with code {code} of HTTP/2"))

    def _take_of_connection(self, kind: int, flags: int, content: bytes) -> None:
        if kind == _SETTINGS and not flags & _ACK:
            self._greeted = True
            for key, value in struct.iter_unpack(">HI", content):
                if key == _INITIAL_WINDOW_SIZE:
                    self._stream_window += value - self._first_window
                    self._first_window = value
                elif key == _MAX_FRAME_SIZE:
                    self._longest_frame = value
            self._send(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            self._transport.write(_frame(_PING, _ACK, 0, content))
        elif kind == _WINDOW_UPDATE:
            self._window += int.from_bytes(content, "big")
            self._send()
        elif kind == _GOAWAY:
            self._leaving = True
            if self._stream > int.from_bytes(content[:4], "big"):
                self._fail(Lost("the server takes no more calls on this connection", unseen=True))
            if self._stream == 0:
                self._transport.close()

    def _send(self, frames: bytes = b"") -> None:
        """Send these, and as much of the message as the windows allow."""
        pieces: list[bytes | memoryview] = [frames]
        while self._unsent:
            size = min(len(self._unsent), self._longest_frame, self._window, self._stream_window)
            if size <= 0:
                break
            piece, self._unsent = self._unsent[:size], self._unsent[size:]
            self._window -= size
            self._stream_window -= size
            flags = 0 if self._unsent else _END_STREAM
            pieces += (_head(size, _DATA, flags, self._stream), piece)
        if written := b"".join(pieces):
            self._transport.write(written)

    def _consume(self, size: int) -> None:
        self._consumed += size
        if self._consumed > _LARGEST_WINDOW // 2:
            self._transport.write(_frame(_WINDOW_UPDATE, 0, 0, self._consumed.to_bytes(4, "big")))
            self._consumed = 0

    def _finish(self, headers: Mapping[str, str]) -> None:
        status = int(headers.get("grpc-status") or UNKNOWN)
        if status != OK:
            self._fail(RpcError(status, unquote(headers.get("grpc-message", ""))))
            return
        message = b"".join(self._message)
        if message[:1] != b"\0" or int.from_bytes(message[1:5], "big") != len(message) - 5:
            self._fail(RpcError(INTERNAL, "the server's answer is not one message without compression"))
        elif self._answer and not self._answer.done():
            self._end()
            self._answer.set_result(message[5:])

    def _fail(self, error: RpcError) -> None:
        self._end()
        if self._answer and not self._answer.done():
            self._answer.set_exception(error)

    def _end(self) -> None:
        """Nothing of this call is sent or taken any more."""
        if self._unsent and not self._transport.is_closing():  # the answer came before the whole message had left
            self._transport.write(_frame(_RST_STREAM, 0, self._stream, _CANCEL.to_bytes(4, "big")))
        self._stream, self._unsent, self._message = 0, memoryview(b""), []


def _head(size: int, kind: int, flags: int, stream: int) -> bytes:
    return size.to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return _head(len(content), kind, flags, stream) + content
