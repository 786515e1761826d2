"""What is sent: how many rows a request has, how many requests are under way, and what is in them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image

from benchmarks import texts
from benchmarks.examples import photographs

TEXTS = tuple(texts.LENGTHS)
IMAGES = "images"
SIDES = (299, 640, 1280, 3000)  # of the images, in pixels
MIDDLE = 1280  # the side of the one image that a request of several repeats
_NOUNS = {
    "short": ("short sentence", "short sentences"),
    "mix": ("mixed sentence", "mixed sentences"),
    IMAGES: ("image", "images"),
}


@dataclass(frozen=True, order=True)
class Load:
    """One kind of load.

    Attributes:
        content: "short" or "mix" (texts, see :mod:`benchmarks.texts`), or "images".
        rows: texts or images in a request.
        concurrency: requests under way at any moment; 0: no server, batches of ``rows`` one after the other.
        sorted: the texts are in the order of their lengths, so that a batch needs little padding.
    """

    content: str
    rows: int
    concurrency: int
    sorted: bool = False

    @property
    def duration(self) -> float:
        """How many times longer than others it is measured: of slow requests too few would be answered."""
        if self.rows == 1 or not self.concurrency:
            return 1.0
        return 2.5 if self.content == IMAGES else 1.5

    def __str__(self) -> str:
        rows = f"{self.rows} {noun(self.content, self.rows)}"
        if self.concurrency:
            requests = "one at a time" if self.concurrency == 1 else f"{self.concurrency} requests at once"
            return f"{rows} per request, {requests}"
        return f"batches of {rows}{', sorted by length' if self.sorted else ''}"


def noun(content: str, count: int) -> str:
    """What a row of this content is, in words: "image", "short sentences"."""
    return _NOUNS[content][count != 1]


def texts_of(load: Load, repository: Path) -> Sequence[str]:
    """The texts of a load in the order in which they are sent, counted by the tokenizer of the built ``repository``."""
    return _texts(load.content, load.sorted, repository)


def images_of(load: Load) -> Sequence[bytes]:
    """The images of a load. A request of several rows repeats one image: perf_analyzer cannot join images of different
    sizes, and the limit must get the same."""
    return _images() if load.rows == 1 else _images(MIDDLE)[:1]


@cache
def _texts(content: str, in_order: bool, repository: Path) -> tuple[str, ...]:
    tokenizer = texts.load_tokenizer(repository)
    rows = texts.make_texts(tokenizer, texts.LENGTHS[content])
    return tuple(sorted(rows, key=lambda text: len(tokenizer.encode(text).ids)) if in_order else rows)


@cache
def _images(*sides: int) -> tuple[bytes, ...]:
    """Each photograph in every size, sizes side by side, so that a few requests in a row have all of them."""
    return tuple(_jpeg(path, side) for path in photographs() for side in sides or SIDES)


def _jpeg(path: Path, side: int) -> bytes:
    file = io.BytesIO()
    with Image.open(path) as image:
        image.convert("RGB").resize((side, side), Image.Resampling.LANCZOS).save(file, "JPEG", quality=90)
    return file.getvalue()
