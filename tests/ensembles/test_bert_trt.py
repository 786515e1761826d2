"""bert_trt on the real server against sentence-transformers in this process, with the same weights."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.ensembles.clients import embed, infer
from tests.ensembles.sentences import SENTENCES
from tests.processes import wait_until
from triton_ensembles.server.triton_server import TritonServer

SERVED = ("bert_trt",)
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def expected(minilm: Path) -> dict[str, Any]:
    """sentence-transformers' embedding of each sentence, by torch."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    encoder = Transformer(str(minilm), max_seq_length=256)
    model = SentenceTransformer(modules=[encoder, Pooling(384, "mean"), Normalize()], device="cpu")
    vectors = model.encode(SENTENCES, batch_size=16, convert_to_numpy=True, show_progress_bar=False)
    return dict(zip(SENTENCES, vectors, strict=True))


def worst(vectors: Any, texts: list[str], expected: dict[str, Any]) -> float:
    return float(np.abs(vectors - np.stack([expected[text] for text in texts])).max())


def test_embeddings_are_those_of_sentence_transformers(client: http.InferenceServerClient, expected: Any) -> None:
    assert len(SENTENCES) > 100
    for start in range(0, len(SENTENCES), 64):
        texts = SENTENCES[start : start + 64]
        vectors = embed(client, texts)
        assert vectors.shape == (len(texts), 384)
        assert worst(vectors, texts, expected) <= TOLERANCE
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_requests_of_different_lengths_meet_in_one_execution(server: TritonServer, client: Any) -> None:
    """Otherwise every sentence would be a run of the engine of its own, since hardly two are of one length."""
    texts = ["word " * number for number in (6, 7, 8, 9, 10)]

    def counts() -> tuple[int, int]:
        (stats,) = client.get_inference_statistics("bert_trt.bert-trt")["model_stats"]
        return stats["inference_count"], stats["execution_count"]

    def ask_alone(text: str) -> None:
        with http.InferenceServerClient(server.http_url) as client:
            embed(client, [text])

    def executions() -> int:
        """How many the engine needs for the five texts, sent together."""
        before = counts()
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(ask_alone, texts))
        wait_until(lambda: counts()[0] - before[0] >= 5)  # Triton counts an execution after its answers
        return counts()[1] - before[1]

    assert any(executions() < 5 for _ in range(200))


def test_invalid_utf8_names_its_row_and_fails_alone(server: TritonServer, expected: Any) -> None:
    """Good requests sent at the same time, and so batched with the bad ones, get their own answers."""

    def ask(number: int) -> str | float:
        with http.InferenceServerClient(server.http_url) as client:
            if number % 4 == 0:
                texts = np.array([[b"fine"], [b"also fine"], [b"\xff\xfe"]], np.object_)
                with pytest.raises(InferenceServerException) as caught:
                    infer(client, "bert_trt", {"INPUT0": texts})
                return str(caught.value)
            return worst(embed(client, [SENTENCES[number]]), [SENTENCES[number]], expected)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(64)))
    for number, answer in enumerate(answers):
        if number % 4 == 0:
            assert "row 2 of INPUT0 is not valid UTF-8" in str(answer)
        else:
            assert isinstance(answer, float) and answer <= TOLERANCE
