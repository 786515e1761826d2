"""Headers of HTTP/2 (RFC 7541) for a client that keeps no table of them: every header is sent and read as it is.

A peer that was told of a table of no entries (SETTINGS_HEADER_TABLE_SIZE 0) sends such headers alone, or refers to the
standard's own list, which has none that gRPC answers with but ``:status``. gRPC's C++ servers use no Huffman codes.
"""

from collections.abc import Iterable, Mapping


def encode(headers: Iterable[tuple[str, str]]) -> bytes:
    """A block of literal headers."""
    return b"".join(b"\0" + _text(name) + _text(value) for name, value in headers)


def decode(block: bytes) -> Mapping[str, str]:
    """The headers of a block that are spelled out.

    Raises:
        ValueError: it is cut off, or no block of headers.
    """
    found, at = {}, 0
    try:
        while at < len(block):
            first = block[at]
            if first & 0x80:  # one of the standard's list
                _, at = _number(block, at, 7)
            elif first & 0xE0 == 0x20:  # the size of the table
                _, at = _number(block, at, 5)
            else:
                index, at = _number(block, at, 6 if first & 0x40 else 4)
                name, at = ("", at) if index else _read(block, at)
                value, at = _read(block, at)
                found[name] = value
    except IndexError:
        raise ValueError("a block of headers is cut off") from None
    return found


def _text(text: str) -> bytes:
    content = text.encode()
    if len(content) < 0x7F:
        return bytes((len(content),)) + content
    rest, length = len(content) - 0x7F, bytearray(b"\x7f")
    while rest > 0x7F:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return bytes(length) + content


def _number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """The number whose first ``bits`` are at ``at``, and the place after it."""
    most = (1 << bits) - 1
    number, at = block[at] & most, at + 1
    if number < most:
        return number, at
    shift = 0
    while True:
        part, at = block[at], at + 1
        number += (part & 0x7F) << shift
        shift += 7
        if part < 0x80:
            return number, at


def _read(block: bytes, at: int) -> tuple[str, int]:
    coded = block[at] & 0x80
    length, at = _number(block, at, 7)
    if at + length > len(block):
        raise IndexError
    return "" if coded else block[at : at + length].decode("latin-1"), at + length
