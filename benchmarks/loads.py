"""The loads: how many rows a request has, how many requests are under way, and their texts or images.

Short texts are real English of exact token counts, cut out of the example requests of bert_trt: runs of whole words of
these sentences, one sentence after the other. Where a run begins is drawn with a fixed seed; it ends where the
tokenizer has counted the right number of tokens ([CLS] and [SEP] included).
"""

import io
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image
from tokenizers import Tokenizer

from benchmarks.examples import examples_of, photographs
from triton_ensembles.ground.errors import EnsembleError

SHORT, IMAGES = "short", "images"
TOKENS = range(10, 17)  # of a short text
COUNT = 320  # different texts
SIDES = (299, 640, 1280, 3000)  # of the images, in pixels
MIDDLE = 1280  # the side of the one image that a request of several repeats
_NOUNS = {SHORT: ("short sentence", "short sentences"), IMAGES: ("image", "images")}
_SEED = 5


@dataclass(frozen=True, order=True)
class Load:
    """One kind of load.

    Attributes:
        content: SHORT or IMAGES.
        rows: texts or images in a request.
        concurrency: requests under way at any moment; 0: no server, batches of ``rows`` one after the other.
    """

    content: str
    rows: int
    concurrency: int

    @property
    def duration(self) -> float:
        """The factor by which it is measured longer than others: of slow requests too few would be answered."""
        if self.rows == 1 or not self.concurrency:
            return 1.0
        return 2.5 if self.content == IMAGES else 1.5

    def __str__(self) -> str:
        rows = f"{self.rows} {_NOUNS[self.content][self.rows != 1]}"
        if not self.concurrency:
            return f"batches of {rows}"
        requests = "one at a time" if self.concurrency == 1 else f"{self.concurrency} requests at once"
        return f"{rows} per request, {requests}"


def images_of(load: Load) -> Sequence[bytes]:
    """The images of a load. A request of several rows repeats one image: perf_analyzer cannot join images of different
    sizes, and the limit must get the same."""
    return _images() if load.rows == 1 else _images(MIDDLE)[:1]


@cache
def _images(*sides: int) -> tuple[bytes, ...]:
    """All photographs in every size, sizes side by side, so that a few requests in a row have all of them."""
    return tuple(_jpeg(path, side) for path in photographs() for side in sides or SIDES)


def _jpeg(path: Path, side: int) -> bytes:
    file = io.BytesIO()
    with Image.open(path) as image:
        image.convert("RGB").resize((side, side), Image.Resampling.LANCZOS).save(file, "JPEG", quality=90)
    return file.getvalue()


@cache
def short_texts(repository: Path) -> tuple[str, ...]:
    """Different texts in the order in which they are sent, counted by the tokenizer of the built ``repository``; their
    token counts repeat TOKENS, reshuffled each time."""
    tokenizer = load_tokenizer(repository)
    words = [word for row in examples_of("bert_trt").rows() for word in row["INPUT0"][0].decode().split()]
    draw = random.Random(_SEED)
    texts: dict[str, None] = {}
    for begin in range(0, COUNT, len(TOKENS)):
        for length in draw.sample(TOKENS, min(COUNT - begin, len(TOKENS))):
            texts[_text(tokenizer, words, length, texts, draw)] = None
    return tuple(texts)


def load_tokenizer(repository: Path) -> Tokenizer:
    """The tokenizer of the built bert_trt, set to neither truncate nor pad (its file does both at 128 tokens)."""
    path = next(iter(sorted(repository.rglob("tokenizer.json"))), None)
    if path is None:
        raise EnsembleError("none of its steps has a tokenizer.json", path=repository)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _text(tokenizer: Tokenizer, words: Sequence[str], length: int, used: Iterable[str], draw: random.Random) -> str:
    """A text that is not in ``used``. A word has up to about eight tokens: not every start can give the exact count."""
    while True:
        start = draw.randrange(len(words))
        run = " ".join(words[(start + number) % len(words)] for number in range(length))
        end = tokenizer.encode(run).offsets[length - 2][1]  # of the token that only [SEP] shall follow
        if run[end : end + 1] in ("", " ") and run[:end] not in used:
            return run[:end]
