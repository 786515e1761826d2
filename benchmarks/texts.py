"""Real English texts of exact token counts, cut out of the example requests of bert_trt.

A text is a run of whole words of these sentences, one sentence after the other. Where the run begins is drawn with a
fixed seed; it ends where the tokenizer has counted the wanted number of tokens ([CLS] and [SEP] included).
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.examples import examples_of
from triton_ensembles.errors import EnsembleError

COUNT = 320
SHORT = range(10, 17)
MIX = range(8, 129)
LENGTHS = {"short": SHORT, "mix": MIX}
_SEED = 5


def load_tokenizer(repository: Path) -> Tokenizer:
    """The tokenizer of the built bert_trt, set to neither truncate nor pad (its file does both at 128 tokens)."""
    path = next(iter(sorted(repository.rglob("tokenizer.json"))), None)
    if path is None:
        raise EnsembleError("none of its steps has a tokenizer.json", path=repository)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def make_texts(tokenizer: Tokenizer, lengths: Sequence[int], count: int = COUNT) -> list[str]:
    """``count`` different texts; their token counts repeat ``lengths``, reshuffled each time."""
    sentences = [row["INPUT0"][0].decode() for row in examples_of("bert_trt").rows()]
    words = [word for sentence in sentences for word in sentence.split()]
    draw = random.Random(_SEED)
    texts: dict[str, None] = {}
    for length in _rounds(lengths, count, draw):
        texts[_text(tokenizer, words, length, texts, draw)] = None
    return list(texts)


def _rounds(lengths: Sequence[int], count: int, draw: random.Random) -> Iterator[int]:
    for begin in range(0, count, len(lengths)):
        yield from draw.sample(lengths, min(count - begin, len(lengths)))


def _text(tokenizer: Tokenizer, words: Sequence[str], length: int, texts: dict[str, None], draw: random.Random) -> str:
    """A text that is new. A word has up to about eight tokens, so not every start can give the exact count."""
    while True:
        start = draw.randrange(len(words))
        run = " ".join(words[(start + number) % len(words)] for number in range(length))
        end = tokenizer.encode(run).offsets[length - 2][1]  # of the token that only [SEP] shall follow
        if run[end : end + 1] in ("", " ") and run[:end] not in texts:
            return run[:end]
