"""What servers answer to the same texts, and how far two answers agree."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tritonclient.http as http

from benchmarks.engines import Array
from benchmarks.examples import examples_of
from benchmarks.loads import Load, texts_of
from triton_ensembles.triton.server import TritonServer

COMPARED = 100  # texts


def answers_of(server: TritonServer, repository: Path) -> tuple[Sequence[str], Array]:
    """Texts of many lengths, and the vectors FP32 [texts, 384] that bert_trt in ``repository`` gives for each alone."""
    texts = list(texts_of(Load("mix", 1, 1), repository)[:COMPARED])
    example = examples_of("bert_trt").requests[0]
    with http.InferenceServerClient(server.http_url) as client:
        answers = [client.infer(repository.name, example.with_texts([text]).infer_inputs()) for text in texts]
    return texts, np.concatenate([answer.as_numpy("finaloutput") for answer in answers])


def lowest_cosine(ours: Array, theirs: Array) -> float:
    """The lowest of n cosines, of rows [n, d] compared with each other."""
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (ours, theirs)]
    return float(np.sum(units[0] * units[1], axis=1).min())
