"""Encoded images are looked at before DALI decodes them: is it an image, how large will it be, where does it end.

One bad row makes a DALI pipeline throw its whole batch away, and the size of a decoded image has nothing to do with
the size of its file: 420 kB of PNG became 12000 x 12000 pixels, 1 GB of memory and 3 s. Reading the header with the
codec library of DALI itself (nvImageCodec) takes some microseconds and refuses exactly what its decoders do not know.
"""

from __future__ import annotations

from nvidia import nvimgcodec

from triton_ensembles.backends.common.batching import Array, BadInputError

MAX_PIXELS = 89_478_485
"""Pillow's Image.MAX_IMAGE_PIXELS: a quarter of a gigabyte of RGB. The parameter max_image_pixels replaces it."""

# These formats end in a marker that is not zero (EOI; the checksum of IEND), so zeros behind it are never theirs.
_PADDABLE = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


def unpadded(row: Array) -> Array:
    """The row (uint8 [n]) without the zeros that a client put behind a JPEG or PNG.

    That is how images of different lengths travel in one request. Without the padding an image that was cut off is
    seen to be cut off; with it, libjpeg would read the zeros as picture and answer with a half grey one.
    """
    if not row.size or row[-1]:
        return row
    content = row.tobytes()
    return row[: len(content.rstrip(b"\0"))] if content.startswith(_PADDABLE) else row


def pixels(row: Array, limit: int) -> int:
    """How many pixels the encoded image (uint8 [n]) will have, by its header.

    Raises:
        BadInputError: it is no image that DALI knows, or one of more than ``limit`` pixels.
    """
    try:
        stream = nvimgcodec.CodeStream(row)
        height, width = stream.height, stream.width
    except RuntimeError as error:
        raise BadInputError(f"not an image that DALI can decode (JPEG, PNG, BMP, TIFF, WebP, …): {error}") from error
    if height * width > limit:
        raise BadInputError(
            f"an image of {width} x {height} pixels is larger than the {limit} that the model's parameter "
            "max_image_pixels allows"
        )
    return int(height * width)
