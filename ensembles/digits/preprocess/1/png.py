"""PNG files to gray pixels, with zlib of the standard library and numpy: all color types, depths and Adam7.

Source: Portable Network Graphics (PNG) Specification, third edition, W3C.
"""

import struct
import zlib
from typing import NamedTuple

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_CHANNELS = {_GRAY: 1, _RGB: 3, _PALETTE: 1, _GRAY_ALPHA: 2, _RGB_ALPHA: 4}
_DEPTHS = {_GRAY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}  # the others have 8 or 16
_WHOLE = ((0, 0, 1, 1),)
# First column and row, steps between columns and rows.
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as JPEG has it


class Header(NamedTuple):
    width: int
    height: int
    depth: int
    color: int
    compression: int
    filtering: int
    interlaced: int

    @property
    def passes(self):
        """First column and row, steps, columns and rows of each pass that is not empty."""
        for left, top, across, down in _ADAM7 if self.interlaced else _WHOLE:
            columns, rows = -(-(self.width - left) // across), -(-(self.height - top) // down)
            if columns > 0 and rows > 0:
                yield left, top, across, down, columns, rows

    def row_bytes(self, columns):
        return -(-columns * _CHANNELS[self.color] * self.depth // 8)


def decode(content, most_pixels):
    """Gray values [height, width], 0 to 255, and opacity [height, width], 0 to 1, which is None where all is opaque.

    Raises:
        ValueError: it is not a complete PNG, or has more than ``most_pixels``.
    """
    header, chunks = _chunks(content, most_pixels)
    samples = np.zeros((header.height, header.width, _CHANNELS[header.color]), np.uint16)
    scanlines = _inflate(
        chunks[b"IDAT"], sum(rows * (1 + header.row_bytes(columns)) for *_, columns, rows in header.passes)
    )
    start = 0
    for left, top, across, down, columns, rows in header.passes:
        width = header.row_bytes(columns)
        part = scanlines[start : start + rows * (1 + width)].reshape(rows, 1 + width)
        start += part.size
        plain = _unfilter(part, max(1, _CHANNELS[header.color] * header.depth // 8))
        samples[top::down, left::across] = _samples(plain, header, columns)
    return _gray(samples, header, chunks)


def _chunks(content, most_pixels):
    """The header, and the data of the chunks that matter, by their type."""
    header, found, at = None, {b"IDAT": b"", b"PLTE": b"", b"tRNS": b""}, len(SIGNATURE)
    pieces = []
    while True:
        if len(content) < at + 12:
            raise ValueError("this PNG is cut off")
        length, kind = struct.unpack_from(">I4s", content, at)
        data, checksum = content[at + 8 : at + 8 + length], content[at + 8 + length : at + 12 + length]
        if len(checksum) < 4:
            raise ValueError("this PNG is cut off")
        if zlib.crc32(data, zlib.crc32(kind)) != int.from_bytes(checksum, "big"):
            raise ValueError("this PNG is damaged: a checksum is wrong")
        at += 12 + length
        if header is None:
            header = _header(kind, data, most_pixels)
        elif kind == b"IDAT":
            pieces.append(data)
        elif kind == b"IEND":
            return header, found | {b"IDAT": b"".join(pieces)}
        elif kind in found:
            found[kind] = data


def _header(kind, data, most_pixels):
    if kind != b"IHDR" or len(data) != 13:
        raise ValueError("this PNG has no header")
    header = Header(*struct.unpack(">II5B", data))
    depths = _DEPTHS.get(header.color, (8, 16))
    if header.color not in _CHANNELS or header.depth not in depths or header.compression or header.filtering:
        raise ValueError("this PNG has a header that the format does not know")
    if header.interlaced > 1 or not header.width or not header.height:
        raise ValueError("this PNG has a header that the format does not know")
    if header.width * header.height > most_pixels:
        raise ValueError(f"an image of {header.width} x {header.height} pixels is larger than {most_pixels} pixels")
    return header


def _inflate(data, size):
    """The ``size`` bytes that the header promises; no more are unpacked, whatever the file holds."""
    try:
        content = zlib.decompressobj().decompress(data, size)
    except zlib.error as error:
        raise ValueError(f"this PNG is damaged: {error}") from None
    if len(content) < size:
        raise ValueError("this PNG is cut off")
    return np.frombuffer(content, np.uint8)


def _unfilter(scanlines, pixel):
    """The bytes of the rows. A byte depends on those to its left, above it and above its left, in all rows' filters at
    once: so the diagonals are computed one after another, and each as a whole.

    Args:
        scanlines: uint8 [rows, 1 + bytes], each row with its filter before it.
        pixel: bytes of a pixel, at least 1.
    """
    filters, (rows, width) = scanlines[:, 0], (len(scanlines), scanlines.shape[1] - 1)
    if filters.max(initial=0) > 4:
        raise ValueError("this PNG is damaged: a row has a filter that does not exist")
    columns = width // pixel
    plain = np.zeros((rows + 1, columns + 1, pixel), np.int16)  # with a row of zeros above and a column at the left
    plain[1:, 1:] = scanlines[:, 1:].reshape(rows, columns, pixel)
    if not filters.any():
        return plain[1:, 1:].reshape(rows, width).astype(np.uint8)
    stride = plain.strides
    # diagonal[d, r] is the pixel in column d - r of row r
    diagonal = np.lib.stride_tricks.as_strided(
        plain, (rows + columns + 1, rows + 1, pixel), (stride[1], stride[0] - stride[1], stride[2])
    )
    kinds = [(filters == kind)[:, None] for kind in range(5)]
    for number in range(2, rows + columns + 1):
        first, last = max(1, number - columns), min(rows, number - 1) + 1
        left, above = diagonal[number - 1, first:last], diagonal[number - 1, first - 1 : last - 1]
        corner = diagonal[number - 2, first - 1 : last - 1]
        sub, up, average, paeth = (kind[first - 1 : last - 1] for kind in kinds[1:])
        to_left, to_above, to_corner = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
        nearest = np.where(
            (to_left <= to_above) & (to_left <= to_corner), left, np.where(to_above <= to_corner, above, corner)
        )
        predicted = sub * left + up * above + average * ((left + above) >> 1) + paeth * nearest
        diagonal[number, first:last] = (diagonal[number, first:last] + predicted) & 0xFF
    return plain[1:, 1:].reshape(rows, width).astype(np.uint8)


def _samples(plain, header, columns):
    """uint16 [rows, columns, channels], as they are numbered in the file."""
    shape = (len(plain), columns, _CHANNELS[header.color])
    if header.depth == 16:
        return plain.view(">u2").reshape(shape)
    if header.depth == 8:
        return plain.reshape(shape)
    bits = np.unpackbits(plain, axis=1)[:, : columns * header.depth].reshape(len(plain), columns, header.depth)
    return (bits @ (1 << np.arange(header.depth)[::-1])).reshape(shape)


def _gray(samples, header, chunks):
    transparent = chunks[b"tRNS"]
    if header.color == _PALETTE:
        palette = np.frombuffer(chunks[b"PLTE"], np.uint8)
        if palette.size % 3 or samples.max() >= palette.size // 3:
            raise ValueError("this PNG is damaged: its palette lacks a color")
        colors, opacity = palette.reshape(-1, 3)[samples[..., 0]], None
        if transparent:
            table = np.full(palette.size // 3, 255, np.uint8)
            table[: len(transparent)] = np.frombuffer(transparent, np.uint8)[: len(table)]
            opacity = table[samples[..., 0]] / np.float32(255)
        return colors @ _LUMA, opacity
    most = np.float32((1 << header.depth) - 1)
    opacity = None
    if header.color in (_GRAY_ALPHA, _RGB_ALPHA):
        opacity = samples[..., -1] / most
    elif len(transparent) == 2 * _CHANNELS[header.color]:
        opacity = (samples != np.frombuffer(transparent, ">u2")).any(axis=2).astype(np.float32)
    values = samples * (np.float32(255) / most)
    return (values[..., :3] @ _LUMA if header.color in (_RGB, _RGB_ALPHA) else values[..., 0]), opacity
