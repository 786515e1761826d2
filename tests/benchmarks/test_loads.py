"""What the benchmark sends."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from benchmarks.loads import IMAGES, TEXTS, Load, images_of, texts_of
from benchmarks.parts import PARTS
from benchmarks.texts import COUNT, LENGTHS, load_tokenizer
from triton_ensembles.building.built import Built


@pytest.mark.parametrize("content", TEXTS)
def test_texts_have_the_token_counts_that_the_page_states(content: str, built: dict[str, Built]) -> None:
    """Otherwise "short" and "long" are wrong, and so is every comparison with other measurements."""
    repository = built["bert_trt"].repository
    tokenizer = load_tokenizer(repository)
    texts = texts_of(Load(content, 1, 1), repository)
    counts = [len(tokenizer.encode(text).ids) for text in texts]
    assert set(counts) == set(LENGTHS[content])
    assert max(counts.count(length) for length in counts) - min(counts.count(length) for length in counts) <= 1
    assert len(set(texts)) == COUNT


def test_sorted_texts_are_the_same_texts_by_length(built: dict[str, Built]) -> None:
    """Otherwise the limit with sorted batches is that of a different load."""
    repository = built["bert_trt"].repository
    unsorted, in_order = (texts_of(Load("mix", 32, 0, each), repository) for each in (False, True))
    tokenizer = load_tokenizer(repository)
    counts = [len(tokenizer.encode(text).ids) for text in in_order]
    assert sorted(unsorted) == sorted(in_order)
    assert counts == sorted(counts)


def test_images_have_the_sizes_that_the_page_states() -> None:
    """Otherwise decoding takes a different time than the page suggests."""
    sizes = [Image.open(io.BytesIO(image)).size for image in images_of(Load(IMAGES, 1, 1))]
    assert sizes == [(299, 299), (640, 640), (1280, 1280), (3000, 3000)] * 2
    assert [Image.open(io.BytesIO(image)).size for image in images_of(Load(IMAGES, 8, 1))] == [(1280, 1280)]


def test_the_words_for_loads_are_different() -> None:
    """Otherwise a table or a goal does not say which of two loads it is about."""
    loads = {load for part in PARTS.values() for load in (*part.served, *part.limit, *part.engine)}
    assert len({str(load) for load in loads}) == len(loads)
