"""What the benchmark sends."""

import io

from PIL import Image

from benchmarks.loads import COUNT, IMAGES, TOKENS, Load, images_of, load_tokenizer, short_texts
from triton_ensembles.building.built import Built


def test_texts_have_the_token_counts_that_the_page_states(built: dict[str, Built]) -> None:
    """Otherwise "short" is wrong, and so is every comparison with other measurements."""
    repository = built["bert_trt"].repository
    tokenizer = load_tokenizer(repository)
    texts = short_texts(repository)
    counts = [len(tokenizer.encode(text).ids) for text in texts]
    assert set(counts) == set(TOKENS)
    assert max(map(counts.count, TOKENS)) - min(map(counts.count, TOKENS)) <= 1
    assert len(set(texts)) == COUNT


def test_images_have_the_sizes_that_the_page_states() -> None:
    """Otherwise decoding takes a different time than the page suggests."""
    sizes = [Image.open(io.BytesIO(image)).size for image in images_of(Load(IMAGES, 1, 1))]
    assert sizes == [(299, 299), (640, 640), (1280, 1280), (3000, 3000)] * 2
    assert [Image.open(io.BytesIO(image)).size for image in images_of(Load(IMAGES, 8, 1))] == [(1280, 1280)]
