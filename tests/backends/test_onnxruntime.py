"""The onnxruntime backend in the real server, on small ONNX models."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tritonclient.grpc as triton
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from conftest import Array, Playground

VOCABULARY, WIDTH = 100, 3
TABLE = np.random.default_rng(0).standard_normal((VOCABULARY, WIDTH)).astype(np.float32)


def embedding(batch: str | int = "batch") -> bytes:
    """IDS (int32 [batch, length]) -> VECTORS (float32 [batch, length, 3]) and SUMS (float32 [batch, 3])."""
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "IDS"], ["VECTORS"]),
            helper.make_node("ReduceSum", ["VECTORS", "axis"], ["SUMS"], keepdims=0),
        ],
        "embedding",
        [helper.make_tensor_value_info("IDS", TensorProto.INT32, [batch, "length"])],
        [
            helper.make_tensor_value_info("VECTORS", TensorProto.FLOAT, [batch, "length", WIDTH]),
            helper.make_tensor_value_info("SUMS", TensorProto.FLOAT, [batch, WIDTH]),
        ],
        [numpy_helper.from_array(TABLE, "table"), numpy_helper.from_array(np.array([1]), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    content: bytes = model.SerializeToString()
    return content


def identity_of_text() -> bytes:
    texts = (helper.make_tensor_value_info(name, TensorProto.STRING, ["batch", 1]) for name in ("IN", "OUT"))
    graph = helper.make_graph([helper.make_node("Identity", ["IN"], ["OUT"])], "text", [next(texts)], [next(texts)])
    content: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    ).SerializeToString()
    return content


def config(name: str, ragged: bool = True, extra: str = "") -> str:
    return f"""
name: "{name}" platform: "onnxruntime_onnx" max_batch_size: 16
input [ {{ name: "IDS" data_type: TYPE_INT32 dims: [ -1 ] allow_ragged_batch: {str(ragged).lower()} }} ]
output [
  {{ name: "SUMS" data_type: TYPE_FP32 dims: [ {WIDTH} ] }},
  {{ name: "VECTORS" data_type: TYPE_FP32 dims: [ -1, {WIDTH} ] }}
]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
dynamic_batching {{ max_queue_delay_microseconds: 300000 }}
{extra}
"""


@pytest.fixture(scope="module", params=["equal", "ragged"])
def model(request: pytest.FixtureRequest, playground: Playground) -> str:
    name = f"embedding_{request.param}"
    playground.load(name, config(name, ragged=request.param == "ragged"), {"1/model.onnx": embedding()})
    return name


def ids(seed: int, rows: int, length: int) -> Array:
    return np.random.default_rng(seed).integers(0, VOCABULARY, (rows, length)).astype(np.int32)


def test_concurrent_requests_get_their_own_rows(playground: Playground, model: str) -> None:
    """Otherwise a client would get another client's vectors, or every request would be a run of its own."""
    # A batch is made of neighbours in the queue: where lengths must be equal, those of one length come together.
    inputs = [ids(seed, rows=1 + seed % 3, length=4 + seed // 6) for seed in range(12)]
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda given: playground.ask(model, ["SUMS", "VECTORS"], IDS=given), inputs))
    for given, answer in zip(inputs, answers, strict=True):
        np.testing.assert_array_equal(answer["VECTORS"], TABLE[given])
        np.testing.assert_allclose(answer["SUMS"], TABLE[given].sum(axis=1), atol=1e-6)
    assert playground.largest_batch(model) > 3


def test_only_the_outputs_that_were_asked_for(playground: Playground, model: str) -> None:
    """Otherwise a client would pay for outputs it does not want, or get them under wrong names."""
    given = ids(0, 2, 5)
    with ThreadPoolExecutor(2) as pool:
        sums, vectors = pool.map(lambda name: playground.ask(model, [name], IDS=given)[name], ["SUMS", "VECTORS"])
    assert sums.shape == (2, WIDTH)
    np.testing.assert_array_equal(vectors, TABLE[given])


def test_a_bad_request_fails_alone(playground: Playground, model: str) -> None:
    """Otherwise one token id beyond the vocabulary would take the answers of the whole batch."""
    given = [ids(seed, 1, 4) for seed in range(5)]
    given[2] = np.full((1, 4), 999, np.int32)

    def outcome(array: Array) -> Array | str:
        try:
            return playground.ask(model, ["VECTORS"], IDS=array)["VECTORS"]
        except triton.InferenceServerException as error:
            return str(error)

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(outcome, given))
    assert "INVALID_ARGUMENT" in str(answers[2]) and "out of" in str(answers[2])
    for index in (0, 1, 3, 4):
        np.testing.assert_array_equal(answers[index], TABLE[given[index]])


def test_text(playground: Playground) -> None:
    """Otherwise STRING tensors would arrive as bytes that ONNX Runtime does not take."""
    playground.load(
        "text",
        """name: "text" backend: "onnxruntime" max_batch_size: 4
        input [ { name: "IN" data_type: TYPE_STRING dims: [ 1 ] } ]
        output [ { name: "OUT" data_type: TYPE_STRING dims: [ 1 ] } ]
        instance_group [ { count: 1 kind: KIND_CPU } ]""",
        {"1/model.onnx": identity_of_text()},
    )
    texts = np.array([["Grüße".encode()], ["日本".encode()]], object)
    assert playground.ask("text", ["OUT"], IN=texts)["OUT"].tolist() == texts.tolist()
    with pytest.raises(triton.InferenceServerException, match=r"IN .*UTF-8"):
        playground.ask("text", ["OUT"], IN=np.array([[b"\xff"]], object))


def test_without_a_batch_axis(playground: Playground) -> None:
    """Otherwise max_batch_size 0 would be read as a batch."""
    text = config("fixed").replace("max_batch_size: 16", "max_batch_size: 0").replace("dims: [ -1 ]", "dims: [ 2, -1 ]")
    text = text.replace("dims: [ 3 ]", "dims: [ 2, 3 ]").replace("dims: [ -1, 3 ]", "dims: [ 2, -1, 3 ]")
    text = re.sub(r"allow_ragged_batch: \w+|dynamic_batching.*", "", text)
    playground.load("fixed", text, {"1/model.onnx": embedding(batch=2)})
    given = ids(1, 2, 3)
    np.testing.assert_array_equal(playground.ask("fixed", ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])


def parameter(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


def test_options_of_the_native_backend(playground: Playground) -> None:
    """Otherwise thread counts in a config would have no effect, and a misspelt one would go unnoticed."""
    values = {
        "intra_op_thread_count": "1",
        "inter_op_thread_count": "1",
        "execution_mode": "1",
        "enable_mem_arena": "0",
        "enable_mem_pattern": "0",
        "memory.enable_memory_arena_shrinkage": "",
        "session.use_device_allocator_for_initializers": "1",
        "intra_op_threads": "1",
    }
    extra = "optimization { graph { level: -1 } }\n" + "".join(parameter(*item) for item in values.items())
    playground.load("options", config("options", extra=extra), {"1/model.onnx": embedding()})
    given = ids(2, 1, 3)
    np.testing.assert_array_equal(playground.ask("options", ["VECTORS"], IDS=given)["VECTORS"], TABLE[given])
    warnings = re.findall(
        r"parameter (\S+) of the config is not one that is read here", playground.server.log.read_text()
    )
    assert warnings == ["intra_op_threads"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"IDS"', '"TOKENS"', 'has input "TOKENS", but the file has "IDS"'),
        ('"SUMS"', '"MEANS"', 'has output "MEANS", but the file has "VECTORS", "SUMS"'),
        ("TYPE_INT32", "TYPE_INT64", 'input "IDS" is TYPE_INT64 in the config, but TYPE_INT32 in the file'),
        ("dims: [ 3 ]", "dims: [ 4 ]", r"is \[-1, 4\] with the batch axis in the config, but \[-1, 3\] in the file"),
        ("dims: [ -1 ]", "dims: [ -1, -1 ]", "with the batch axis in the config"),
        ("dynamic", 'default_model_filename: "m.onnx"\ndynamic', r"no file m.onnx \(it has: model.onnx\)"),
        ("dynamic", parameter("intra_op_thread_count", "-1") + "dynamic", "intra_op_thread_count is .-1., but must"),
        ("dynamic", "optimization { graph { level: 7 } }\ndynamic", "graph.level is 7, but must be one of -1, 0, 1, 2"),
    ],
)
def test_config_that_does_not_fit_the_file(playground: Playground, old: str, new: str, message: str) -> None:
    """Otherwise a wrong config would load and fail at the first request."""
    assert old in config("bad")
    reason = playground.refusal("bad", config("bad").replace(old, new, 1), {"1/model.onnx": embedding()})
    assert re.search(message, reason), reason


def test_files_that_do_not_fit(playground: Playground) -> None:
    """Otherwise a model without a batch axis would fail in every batch, and a wrong file with a riddle."""
    reason = playground.refusal("bad", config("bad"), {"1/model.onnx": embedding(batch=1)})
    assert 'max_batch_size is 16, but input "IDS" of the file has no batch axis of any size in front: [1, -1]' in reason
    reason = playground.refusal("bad", config("bad"), {"1/model.onnx": b"junk"})
    assert "ONNX Runtime cannot load model.onnx" in reason
