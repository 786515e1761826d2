"""What both backends for ONNX files do: onnxruntime and openvino in the real server."""

import re

import numpy as np
import pytest
import tritonclient.grpc as triton

from tests.runtime.backends.conftest import Array, ModelServer
from tests.runtime.backends.embedding import TABLE, WIDTH, config, embedding, ids, parameter


@pytest.fixture(scope="module", params=["onnxruntime", "openvino"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=["equal", "ragged", "padded"])
def model(request: pytest.FixtureRequest, backend: str, model_server: ModelServer) -> str:
    """One model for each way of making a batch: requests of equal shape only, of any, and rows padded to one length."""
    name = f"{backend}_{request.param}"
    extra = parameter("padded_batching", "true") if request.param == "padded" else ""
    text = config(name, backend, ragged=request.param != "equal", extra=extra)
    model_server.load(name, text, {"1/model.onnx": embedding()})
    return name


def test_concurrent_requests_get_their_own_rows(model_server: ModelServer, model: str) -> None:
    """Otherwise a client would get another client's vectors, or every request would be a run of its own."""
    # A batch is made of neighbours in the queue: where lengths must be equal, those of one length come together.
    inputs = [ids(seed, rows=1 + seed % 3, length=4 + seed // 6) for seed in range(12)]
    answers = model_server.infer_together(model, ["SUMS", "VECTORS"], [{"IDS": given} for given in inputs], more_than=3)
    for given, answer in zip(inputs, answers, strict=True):
        np.testing.assert_array_equal(answer["VECTORS"], TABLE[given])
        np.testing.assert_allclose(answer["SUMS"], TABLE[given].sum(axis=1), atol=1e-6)
    # Otherwise a client would pay for outputs it does not want, or get them under wrong names.
    assert model_server.infer(model, ["SUMS"], IDS=given)["SUMS"].shape == (len(given), WIDTH)
    np.testing.assert_array_equal(model_server.infer(model, ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])


@pytest.mark.parametrize(
    ("backend", "length", "bad", "message"),
    [
        ("onnxruntime", "length", np.full((1, 4), 999, np.int32), "INVALID_ARGUMENT.*out of"),
        ("openvino", 4, ids(2, 1, 5), r"INVALID_ARGUMENT.*\(1\.5\)"),
    ],
)
def test_a_bad_request_fails_alone(
    model_server: ModelServer, backend: str, length: str | int, bad: Array, message: str
) -> None:
    """Otherwise one unknown token id, or a length that the file does not take, would fail the whole batch."""
    name = f"{backend}_bad_request"
    model_server.load(name, config(name, backend), {"1/model.onnx": embedding(length=length)})
    given = [ids(0, 1, 4), ids(1, 1, 4), bad, ids(3, 1, 4), ids(4, 1, 4)]
    answers = model_server.infer_together(name, ["VECTORS"], [{"IDS": array} for array in given])
    assert re.search(message, str(answers[2])), answers[2]
    for index in (0, 1, 3, 4):
        np.testing.assert_array_equal(answers[index]["VECTORS"], TABLE[given[index]])


ONNXRUNTIME = "intra_op_thread_count inter_op_thread_count execution_mode enable_mem_arena enable_mem_pattern"
ONNXRUNTIME += " session.use_device_allocator_for_initializers memory.enable_memory_arena_shrinkage"


@pytest.mark.parametrize(
    ("backend", "known"), [("onnxruntime", ONNXRUNTIME), ("openvino", "INFERENCE_NUM_THREADS CPU_EXTENSION_PATH")]
)
def test_options_of_the_native_backend(model_server: ModelServer, backend: str, known: str) -> None:
    """Otherwise a config for NVIDIA's backend would not load here."""
    name = f"{backend}_options"
    extra = "optimization { graph { level: -1 } }\n" if backend == "onnxruntime" else ""
    extra += "".join(parameter(key, "" if key.startswith("memory.") else "1") for key in known.split())
    model_server.load(name, config(name, backend, extra=extra), {"1/model.onnx": embedding()})
    given = ids(2, 1, 3)
    np.testing.assert_array_equal(model_server.infer(name, ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])


@pytest.mark.parametrize(
    ("backend", "extra", "message"),
    [
        ("onnxruntime", parameter("intra_op_thread_count", "-1"), 'intra_op_thread_count is "-1", but must'),
        ("onnxruntime", "optimization { graph { level: 7 } }", "graph.level is 7, but must be one of -1, 0, 1, 2"),
        (
            "onnxruntime",
            parameter("padded_batching", "true"),
            "padded_batching needs one named axis of any size in the",
        ),
        ("openvino", parameter("INFERENCE_NUM_THREADS", "two"), 'INFERENCE_NUM_THREADS is "two", but must'),
        ("openvino", parameter("padded_batching", "true"), "padded_batching needs an axis of any size in the file's"),
    ],
)
def test_options_that_do_not_suit_are_refused(
    model_server: ModelServer, backend: str, extra: str, message: str
) -> None:
    """Otherwise a wrong option would have no effect, unnoticed, or padding would cut the wrong axis."""
    text = config("bad", backend, extra=extra)
    assert message in model_server.refusal(text, {"1/model.onnx": embedding(length=4)})


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
    reason = model_server.refusal(text.replace(old, new, 1), {"1/model.onnx": embedding()})
    assert re.search(message, reason), reason


def test_a_file_that_is_not_a_model_is_refused(model_server: ModelServer, backend: str) -> None:
    """Otherwise nobody would understand why a wrong file does not load. The server says what ``refusal`` answers."""
    with pytest.raises(triton.InferenceServerException, match=r"cannot (load|read) model\.onnx"):
        model_server.load("bad", config("bad", backend), {"1/model.onnx": b"junk"})
