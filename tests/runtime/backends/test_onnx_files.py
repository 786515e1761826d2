"""What both backends for ONNX files do: onnxruntime and openvino in the real server."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.runtime.backends.embedding import BACKENDS, TABLE, WIDTH, config, embedding, ids, without_batch_axis

if TYPE_CHECKING:
    from tests.runtime.backends.conftest import ModelServer


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["equal", "ragged", "padded"])
def model(request: pytest.FixtureRequest, backend: str, model_server: ModelServer) -> str:
    """One model for each way of making a batch: requests of equal shape only, of any, and rows padded to one length."""
    name = f"{backend}_{request.param}"
    extra = 'parameters { key: "padded_batching" value { string_value: "true" } }' if request.param == "padded" else ""
    text = config(name, backend, ragged=request.param != "equal", extra=extra)
    model_server.load(name, text, {"1/model.onnx": embedding()})
    return name


def test_concurrent_requests_get_their_own_rows(model_server: ModelServer, model: str) -> None:
    """Otherwise a client would get another client's vectors, or every request would be a run of its own."""
    # A batch is made of neighbours in the queue: where lengths must be equal, those of one length come together.
    inputs = [ids(seed, rows=1 + seed % 3, length=4 + seed // 6) for seed in range(12)]
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda given: model_server.infer(model, ["SUMS", "VECTORS"], IDS=given), inputs))
    for given, answer in zip(inputs, answers, strict=True):
        np.testing.assert_array_equal(answer["VECTORS"], TABLE[given])
        np.testing.assert_allclose(answer["SUMS"], TABLE[given].sum(axis=1), atol=1e-6)
    model_server.wait_for_a_batch(model, more_than=3)


def test_only_requested_outputs_are_returned(model_server: ModelServer, model: str) -> None:
    """Otherwise a client would pay for outputs it does not want, or get them under wrong names."""
    given = ids(0, 2, 5)
    with ThreadPoolExecutor(2) as pool:
        sums, vectors = pool.map(lambda name: model_server.infer(model, [name], IDS=given)[name], ["SUMS", "VECTORS"])
    assert sums.shape == (2, WIDTH)
    np.testing.assert_array_equal(vectors, TABLE[given])


def test_without_a_batch_axis(model_server: ModelServer, backend: str) -> None:
    """Otherwise max_batch_size 0 would be read as a batch."""
    name = f"{backend}_fixed"
    model_server.load(name, without_batch_axis(name, backend), {"1/model.onnx": embedding(batch=2)})
    given = ids(1, 2, 3)
    np.testing.assert_array_equal(model_server.infer(name, ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"IDS"', '"TOKENS"', 'has input "TOKENS", but the file has "IDS"'),
        ('"SUMS"', '"MEANS"', 'has output "MEANS", but the file has "VECTORS", "SUMS"'),
        ("TYPE_INT32", "TYPE_INT64", 'input "IDS" is TYPE_INT64 in the config, but TYPE_INT32 in the file'),
        ("dims: [ 3 ]", "dims: [ 4 ]", r"is \[-1, 4\] with the batch axis in the config, but \[-1, 3\] in the file"),
        ("dims: [ -1 ]", "dims: [ -1, -1 ]", "with the batch axis in the config"),
        ('"model.onnx"', '"m.onnx"', r"no file m.onnx \(it has: model.onnx\)"),
    ],
)
def test_a_config_that_does_not_match_the_file_is_refused(
    model_server: ModelServer, backend: str, old: str, new: str, message: str
) -> None:
    """Otherwise a wrong config would load and fail at the first request."""
    text = config("bad", backend)
    assert old in text
    reason = model_server.refusal("bad", text.replace(old, new, 1), {"1/model.onnx": embedding()})
    assert re.search(message, reason), reason


def test_a_file_that_is_not_a_model_is_refused(model_server: ModelServer, backend: str) -> None:
    """Otherwise nobody would understand why a wrong file does not load."""
    reason = model_server.refusal("bad", config("bad", backend), {"1/model.onnx": b"junk"})
    assert re.search(r"(ONNX Runtime|OpenVINO) cannot (load|read) model\.onnx", reason), reason
