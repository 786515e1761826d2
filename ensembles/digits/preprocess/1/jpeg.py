"""JPEG files to gray pixels, by libjpeg-turbo in simplejpeg: baseline and progressive, gray, color and CMYK."""

import struct

import numpy as np
import simplejpeg

SIGNATURE = b"\xff\xd8\xff"
_START_OF_SCAN, _APP1 = 0xDA, 0xE1
_ORIENTATION, _SHORT = 0x0112, 3
# How the stored picture is turned into the upright one, by EXIF's numbers.
_UPRIGHT = {
    2: np.fliplr,
    3: lambda stored: np.rot90(stored, 2),
    4: np.flipud,
    5: np.transpose,
    6: lambda stored: np.rot90(stored, -1),
    7: lambda stored: np.rot90(stored, 2).T,
    8: np.rot90,
}


def decode(content, most_pixels):
    """Gray values [height, width], 0 to 255, upright.

    Raises:
        ValueError: it is not a complete JPEG, or has more than ``most_pixels``.
    """
    try:
        height, width, colors, _ = simplejpeg.decode_jpeg_header(content)
        if width * height > most_pixels:
            raise ValueError(f"an image of {width} x {height} pixels is larger than {most_pixels} pixels")
        if colors in ("CMYK", "YCCK"):
            inks = simplejpeg.decode_jpeg(content, "CMYK").astype(np.float32)  # 255 is none of a color
            gray = inks[..., :3] @ np.array([0.299, 0.587, 0.114], np.float32) * inks[..., 3] / 255
        else:
            gray = simplejpeg.decode_jpeg(content, "GRAY")[..., 0].astype(np.float32)
    except ValueError as error:
        raise ValueError(f"this JPEG is damaged, cut off or too large: {error}") from None
    return _UPRIGHT.get(_orientation(content), np.asarray)(gray)


def _orientation(content):
    """EXIF's number, 1 to 8; 1 where it says nothing that can be read."""
    at = 2
    while at + 4 <= len(content) and content[at] == 0xFF and content[at + 1] != _START_OF_SCAN:
        length = int.from_bytes(content[at + 2 : at + 4], "big")
        if content[at + 1] == _APP1 and content[at + 4 : at + 10] == b"Exif\0\0":
            return _of_tiff(content[at + 10 : at + 2 + length])
        at += 2 + length
    return 1


def _of_tiff(data):
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    try:
        (first,) = struct.unpack_from(f"{order}4xI", data)
        (count,) = struct.unpack_from(f"{order}H", data, first)
        for number in range(count):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", data, first + 2 + 12 * number)
            if (tag, kind) == (_ORIENTATION, _SHORT):
                return value
    except struct.error:
        pass
    return 1
