"""The example requests of the project's ensembles, as benchmarks send them, and a comparison of the answers."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import tritonclient.http as http

from benchmarks.engines import Array
from checkout import ENSEMBLES
from triton_ensembles.deploy.payload import Payload, payload_of
from triton_ensembles.project.examples.folder import Examples, read_examples
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.server.triton_server import TritonServer


@cache
def examples_of(ensemble: str) -> Examples:
    return read_examples(ENSEMBLES / ensemble)


def sentences(texts: Sequence[str]) -> Payload:
    """A request with texts for bert_trt, or for the reference, which takes the same."""
    return payload_of(examples_of("bert_trt").requests[0].with_texts(texts))


def photographs() -> list[Path]:
    """The photographs among the examples of dali_inception, as JPEG files."""
    return sorted(examples_folder(ENSEMBLES / "dali_inception").glob("*.jpg"))


def answers_of(server: TritonServer, repository: Path) -> tuple[Sequence[str], Array]:
    """Texts of many lengths, and the vectors FP32 [texts, 384] that bert_trt in ``repository`` gives for each alone."""
    texts = [row["INPUT0"][0].decode() for row in examples_of("bert_trt").rows()]
    example = examples_of("bert_trt").requests[0]
    with http.InferenceServerClient(server.http_url) as client:
        answers = [client.infer(repository.name, example.with_texts([text]).infer_inputs()) for text in texts]
    return texts, np.concatenate([answer.as_numpy("finaloutput") for answer in answers])


def lowest_cosine(ours: Array, theirs: Array) -> float:
    """The lowest of n cosines, of rows [n, d] compared with each other."""
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (ours, theirs)]
    return float(np.sum(units[0] * units[1], axis=1).min())
