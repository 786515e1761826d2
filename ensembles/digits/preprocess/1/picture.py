"""PNG and JPEG files to gray pixels, by Pillow."""

import io

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

MOST_PIXELS = 1 << 24  # 16 megapixels: a file of a few bytes could otherwise ask for gigabytes
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as JPEG has it
_HALVES = 257  # 16 bits of gray are two bytes, both 255 for white

Image.MAX_IMAGE_PIXELS = None  # the limit is ours


def decode(content):
    """Gray values [height, width], 0 to 255, and opacity [height, width], 0 to 1, upright as EXIF says.

    Raises:
        ValueError: it is not a complete PNG or JPEG, or has more than MOST_PIXELS.
    """
    try:
        with Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f"its {image.width} x {image.height} pixels are more than {MOST_PIXELS}")
            upright = ImageOps.exif_transpose(image)
    except UnidentifiedImageError:
        raise ValueError("this is neither a PNG nor a JPEG file") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"this picture is damaged, cut off or too large: {error}") from None
    if upright.mode.startswith("I"):
        gray = np.asarray(upright, np.float32) / _HALVES
        return gray, np.ones_like(gray)
    colors = np.asarray(upright.convert("RGBA"), np.float32)
    return colors[..., :3] @ _LUMA, colors[..., 3] / 255
