"""The example requests of the project's ensembles, as benchmarks send them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from checkout import ENSEMBLES
from triton_ensembles.deploy.payload import Payload, payload_of
from triton_ensembles.examples.folder import Examples, read_examples
from triton_ensembles.examples.place import examples_folder


@cache
def examples_of(ensemble: str) -> Examples:
    return read_examples(ENSEMBLES / ensemble)


def sentences(texts: Sequence[str]) -> Payload:
    """These texts for bert_trt, or for the reference, which takes the same."""
    return payload_of(examples_of("bert_trt").requests[0].with_texts(texts))


def photographs() -> list[Path]:
    """The photographs among the examples of dali_inception, as JPEG files."""
    return sorted(examples_folder(ENSEMBLES / "dali_inception").glob("*.jpg"))
