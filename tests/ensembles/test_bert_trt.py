"""bert_trt on the real server against sentence-transformers in this process, with the same weights."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.ensembles.clients import answers_each_way, embed, executions, infer, text_rows
from tests.ensembles.sentences import SENTENCES
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.triton.server import TritonServer

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


def test_texts_are_cut_where_sentence_transformers_cuts_them(client: http.InferenceServerClient) -> None:
    """The tokenizer.json of the model would cut at 128 tokens on its own: words 129 to 254 would be ignored."""
    same, other_at_200, other_at_300 = "the " * 400, "the " * 200 + "violin " * 200, "the " * 300 + "violin " * 100
    vectors = embed(client, [same, other_at_200, other_at_300])
    assert vectors[0] @ vectors[1] < 0.9
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_http_json_http_binary_and_grpc_give_the_same_answer(server: TritonServer, expected: Any, batch: int) -> None:
    texts = [text for text in SENTENCES if "\x00" not in text][5 : 5 + batch]  # JSON over HTTP ends a string at NUL
    answers = answers_each_way(server, "bert_trt", "INPUT0", text_rows(texts))
    assert worst(answers["http"], texts, expected) <= TOLERANCE
    for answer in answers.values():
        np.testing.assert_allclose(answer, answers["http"], atol=1e-6)


def test_fifty_concurrent_clients_each_get_their_own_answers(server: TritonServer, expected: Any) -> None:
    def ask(seed: int) -> float:
        choice = random.Random(seed)
        found = 0.0
        with http.InferenceServerClient(server.http_url, network_timeout=120, connection_timeout=120) as client:
            for _ in range(2):
                texts = choice.sample(SENTENCES, choice.choice([1, 1, 2, 5]))
                found = max(found, worst(embed(client, texts), texts, expected))
        return found

    with ThreadPoolExecutor(50) as pool:
        assert max(pool.map(ask, range(50))) <= TOLERANCE


def test_requests_of_different_lengths_meet_in_one_execution(server: TritonServer) -> None:
    """Otherwise every sentence would be a run of the engine of its own, since hardly two are of one length."""
    texts = ["word " * number for number in (6, 7, 8, 9, 10)]

    def ask_alone(text: str) -> None:
        with http.InferenceServerClient(server.http_url) as client:
            embed(client, [text])

    def send() -> None:
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(ask_alone, texts))

    assert any(executions(server, "bert_trt.bert-trt", 5, send) < 5 for _ in range(200))


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


def test_the_python_steps_run_in_the_packed_environment(server: TritonServer) -> None:
    """Not in the interpreter that runs the tests: what is proven here is what the archive carries."""
    commands = {pid: command_line(pid) for pid in descendants(server.pid)}
    stubs = [
        Path(f"/proc/{pid}/maps").read_text()
        for pid, command in commands.items()
        if "triton_python_backend_stub" in command and "process" in command
    ]
    inside = [maps for maps in stubs if "/environment/lib/python3" in maps and "site-packages/numpy" in maps]
    assert len(inside) == 2
    assert not any("site-packages/torch" in maps or "transformers" in maps for maps in inside)
