"""The two photographs among the example requests, as JPEG files of different sizes."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from benchmarks.examples import photographs

SIDES = (299, 640, 1280, 3000)
MIDDLE = 1280  # the side of the one image that a request of several repeats
QUALITY = 90


def make_jpegs(sides: tuple[int, ...] = SIDES) -> list[bytes]:
    """Every photograph in every size, sizes side by side, so that a few requests in a row have all of them."""
    return [_jpeg(path, side) for path in photographs() for side in sides]


def _jpeg(path: Path, side: int) -> bytes:
    file = io.BytesIO()
    with Image.open(path) as image:
        image.convert("RGB").resize((side, side), Image.Resampling.LANCZOS).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
