"""Checks encoded images before DALI decodes them: their format, size and end.

One bad row makes a DALI pipeline discard its whole batch, and 420 kB of PNG can be 12000 x 12000 pixels (1 GB, 3 s).
DALI's codec library (nvImageCodec) reads a header in microseconds, and refuses what its decoders do not support.
"""

from nvidia import nvimgcodec

from triton_ensembles.runtime.backends.common.batching import Array, BadInputError

MAX_PIXELS = 89_478_485
"""Pillow's Image.MAX_IMAGE_PIXELS: a quarter of a gigabyte of RGB. The parameter max_image_pixels replaces it."""

# These formats end in a marker that is not zero (EOI; the checksum of IEND), so zeros after it are padding.
_PADDABLE = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


def unpadded(row: Array) -> Array:
    """The row (uint8 [n]) without the zeros that a client appended to a JPEG or PNG. Clients pad so that images of
    different lengths fit into one request. Padding would also hide that an image is cut off: libjpeg would read the
    zeros as pixels and return a half gray image."""
    if not row.size or row[-1]:
        return row
    content = row.tobytes()
    return row[: len(content.rstrip(b"\0"))] if content.startswith(_PADDABLE) else row


def pixels(row: Array, limit: int) -> int:
    """Return the pixels of an encoded image (uint8 [n]) by its header. Raises BadInputError for more than ``limit``."""
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
