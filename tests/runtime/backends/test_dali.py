"""The dali backend in the real server, on real photographs."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
import tritonclient.http as http
from nvidia.dali import fn, pipeline_def, types
from PIL import Image

from pipelines.dali_pipe import preprocess, serialize
from tests.ensembles.clients import infer
from tests.running import serving
from tests.runtime.backends.conftest import Array, Encode, ModelServer, on_cpu
from tests.runtime.backends.embedding import parameter
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import descendants
from triton_ensembles.triton.server import TritonServer

IN, OUT = "DALI_INPUT_0", "DALI_OUTPUT_0"


@pytest.fixture(scope="module")
def server(model_server: ModelServer) -> ModelServer:
    model_server.load("dali", on_cpu("dali"), {"1/model.dali": serialize()})
    return model_server


def one(server: ModelServer, row: Array) -> Array:
    return server.infer("dali", [OUT], **{IN: row[None]})[OUT][0]


def together(server: ModelServer, batches: list[Array], more_than: int = 0) -> list[Any]:
    """The outputs (or exceptions) of concurrent requests."""
    answers = server.infer_together("dali", [OUT], [{IN: batch} for batch in batches], more_than=more_than)
    return [answer[OUT] if isinstance(answer, dict) else answer for answer in answers]


def padded(*rows: Array) -> Array:
    """How a client sends images of different lengths in one request: zeros after the shorter ones."""
    longest = max(map(len, rows))
    return np.stack([np.pad(row, (0, longest - len(row))) for row in rows])


def png(width: int, height: int, rows: int) -> Array:
    """A PNG that claims width x height black pixels and holds that many rows of them."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes((1 + 3 * width) * rows))
    parts = (b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return np.frombuffer(b"".join(parts), np.uint8)


def test_answers_are_those_of_the_pipeline(server: ModelServer, photographs: list[Array], encode: Encode) -> None:
    """Otherwise the server would preprocess images in another way than pipelines/dali_pipe.py does."""
    for photograph in photographs:
        row = encode(photograph)
        np.testing.assert_array_equal(one(server, row), preprocess(row.tobytes()))


def test_concurrent_images_of_different_sizes_are_one_batch(
    server: ModelServer, photographs: list[Array], encode: Encode
) -> None:
    """Otherwise every photograph would be decoded alone, or a client would get another client's image."""
    rows = [encode(photographs[n % 2][: 200 + 20 * n, : 600 - 30 * n]) for n in range(10)]
    answers = together(server, [row[None] for row in rows], more_than=1)
    for row, answer in zip(rows, answers, strict=True):
        np.testing.assert_array_equal(answer[0], preprocess(row.tobytes()))


def test_images_of_different_lengths_in_one_request(
    server: ModelServer, photographs: list[Array], encode: Encode
) -> None:
    """Otherwise a client could not pad its images to one length."""
    rows = [encode(photographs[0]), encode(photographs[1][:50, :50], "PNG"), encode(photographs[1])]
    answers = server.infer("dali", [OUT], **{IN: padded(*rows)})[OUT]
    for row, answer in zip(rows, answers, strict=True):
        np.testing.assert_array_equal(answer, preprocess(row.tobytes()))


def test_formats_that_are_accepted(server: ModelServer, photographs: list[Array], encode: Encode) -> None:
    """Otherwise a photograph in a common format would be refused, or come out in wrong colors."""
    formats = ["PNG/RGB", "PNG/RGBA", "PNG/P", "JPEG/L", "JPEG/CMYK", "BMP/RGB", "TIFF/RGB", "WEBP/RGB"]
    kinds = [kind.split("/") for kind in formats]
    images = [Image.fromarray(photographs[0]).convert(mode) for _, mode in kinds]
    rows = [encode(image, kind) for image, (kind, _) in zip(images, kinds, strict=True)]
    rows.append(encode(photographs[0], "JPEG", progressive=True))
    answers = together(server, [row[None] for row in rows])
    for answer, image, kind in zip(answers, [*images, images[0]], [*formats, "progressive"], strict=True):
        assert not isinstance(answer, Exception), (kind, answer)
        pixels = np.asarray(image.convert("RGB").resize((299, 299), Image.Resampling.BILINEAR), np.float32)
        assert np.abs(answer[0] - (pixels / 127.5 - 1)).mean() < 0.02, kind


def test_one_pixel_and_none(server: ModelServer, encode: Encode) -> None:
    """Otherwise the smallest image would be an error or garbage, or an empty upload could hang or break the model."""
    with pytest.raises(triton.InferenceServerException):
        one(server, np.zeros(0, np.uint8))
    answer = one(server, encode(np.full((1, 1, 3), 255, np.uint8), "PNG"))
    np.testing.assert_array_equal(answer, np.ones((299, 299, 3), np.float32))


# By kind: a row made of a JPEG and a PNG, and what the client reads.
NO_IMAGE = "not an image that DALI can decode"
BAD: dict[str, tuple[Callable[[Array, Array], Array], str]] = {
    "text": (lambda _, __: np.frombuffer(b"this is no image at all", np.uint8), NO_IMAGE),
    "zeros": (lambda _, __: np.zeros(500, np.uint8), NO_IMAGE),
    "cut off in its header": (lambda jpeg, _: jpeg[:300], NO_IMAGE),
    "cut off": (lambda jpeg, _: jpeg[: len(jpeg) // 2], f"{NO_IMAGE}: .*broken or cut off"),
    "padded": (lambda jpeg, _: np.pad(jpeg[: len(jpeg) // 2], (0, 9999)), f"{NO_IMAGE}: .*broken or cut off"),
    "PNG cut off": (lambda _, png_row: png_row[: len(png_row) // 2], NO_IMAGE),
    "a false size": (lambda _, __: png(50_000, 50_000, 1), "50000 x 50000 .* max_image_pixels"),
    "a decompression bomb": (lambda _, __: png(12_000, 12_000, 12_000), "12000 x 12000 .* max_image_pixels"),
}


def memory_megabytes(pid: int, field: str) -> float:
    """VmRSS, what it uses, or VmHWM, the most that it has used."""
    (found,) = re.findall(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found) / 1024


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_row_fails_only_its_own_request(
    server: ModelServer, photographs: list[Array], encode: Encode, bad: str
) -> None:
    """Otherwise one broken upload would fail every request of the same batch."""
    good = [encode(photograph) for photograph in photographs]
    make_row, message = BAD[bad]
    broken = make_row(good[0], encode(photographs[0], "PNG"))
    processes = [server.server.pid, *descendants(server.server.pid)]
    before = sum(memory_megabytes(pid, "VmRSS") for pid in processes)
    for pid in processes:
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak is measured from here on
    answers = together(server, [good[0][None], padded(good[1], good[0], broken), good[1][None]])
    for row, answer in ((good[0], answers[0]), (good[1], answers[2])):
        np.testing.assert_array_equal(answer[0], preprocess(row.tobytes()))
    assert isinstance(answers[1], triton.InferenceServerException)
    assert answers[1].status() == "StatusCode.INVALID_ARGUMENT"
    with pytest.raises(triton.InferenceServerException, match=f"row 2 of {IN}: .*{message}"):
        raise answers[1]
    peak = sum(memory_megabytes(pid, "VmHWM") for pid in processes)
    assert peak - before < 300  # the smaller bomb has 432 MB of pixels
    np.testing.assert_array_equal(one(server, good[1]), preprocess(good[1].tobytes()))


def test_large_images_are_decoded_in_several_runs(
    server: ModelServer, photographs: list[Array], encode: Encode
) -> None:
    """Otherwise a batch of the largest images that are allowed would need the memory of all of them at once."""
    limited = on_cpu("dali", "small") + parameter("max_image_pixels", "300000")  # one photograph has 273 280
    server.load("small", limited, {"1/model.dali": serialize()})
    rows = [encode(photograph) for photograph in photographs * 2]
    answers = server.infer("small", [OUT], **{IN: padded(*rows)})[OUT]
    for row, answer in zip(rows, answers, strict=True):
        np.testing.assert_array_equal(answer, preprocess(row.tobytes()))


def make_pipeline(graph: Callable[[], Any], **options: Any) -> bytes:
    made = pipeline_def(graph)(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=1, **options)
    serialized: bytes = made.serialize()
    return serialized


def two_outputs() -> Any:
    a = fn.external_source(name="A", dtype=types.FLOAT, ndim=1)
    b = fn.external_source(name="B", dtype=types.FLOAT, ndim=1)
    return a + b, a * b


TWO_OUTPUTS = """
name: "two" backend: "dali" max_batch_size: 4
input [ { name: "B" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "A" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "SUM" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "PRODUCT" data_type: TYPE_FP32 dims: [ -1 ] } ]
instance_group [ { count: 1 kind: KIND_CPU } ]
"""


def test_any_pipeline_returns_the_requested_outputs(model_server: ModelServer) -> None:
    """Otherwise the backend would only serve image pipelines with one input and one output."""
    model_server.load("two", TWO_OUTPUTS, {"1/model.dali": make_pipeline(two_outputs)})
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, np.float32)
    assert model_server.infer("two", ["PRODUCT"], A=a, B=b)["PRODUCT"].tolist() == (a * b).tolist()
    both = model_server.infer("two", ["PRODUCT", "SUM"], A=a, B=b)
    assert both["SUM"].tolist() == (a + b).tolist()
    with pytest.raises(triton.InferenceServerException, match="row 0 of A, B: DALI refuses it"):
        model_server.infer("two", ["SUM"], A=np.ones((1, 3), np.float32), B=np.ones((1, 2), np.float32))


def declared(graph: Callable[[], Any]) -> bytes:
    """A pipeline that declares what it returns."""
    return make_pipeline(graph, output_dtype=[types.FLOAT] * 2, output_ndim=[1] * 2)


COMPLETED = {
    "nothing": 'backend: "dali"',
    "unbatched": 'backend: "dali" max_batch_size: 0',
    "partly": """backend: "dali" max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 5 }
        input { name: "B" data_type: TYPE_FP32 } output { name: "SUM" }""",
}


def test_the_pipeline_says_what_the_config_leaves_out(tmp_path: Path) -> None:
    """As dali_backend's own qa/L0_autoconfig has it, and check says nothing of it."""
    for name, config in COMPLETED.items():
        (tmp_path / "models" / name / "1").mkdir(parents=True)
        (tmp_path / "models" / name / "1" / "model.dali").write_bytes(declared(two_outputs))
        (tmp_path / "models" / name / "config.pbtxt").write_text(config)
    assert not [fault for fault in check([tmp_path / "models"]).faults if fault.severity == "error"]
    with serving(TritonServer([tmp_path / "models"], completes=True)) as server:
        one = http.InferenceServerClient(server.http_url)
        configs = {name: one.get_model_config(name) for name in COMPLETED}
        a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, np.float32)
        answers = {name: infer(one, name, {"A": a, "B": b}) for name in COMPLETED}
    first = {"nothing": "__", "unbatched": "__", "partly": "SUM"}
    for name, config in configs.items():
        batched = name != "unbatched"
        assert config["max_batch_size"] == {"unbatched": 0, "partly": 8}.get(name, 4)
        assert ("dynamic_batching" in config) == batched
        assert sorted(entry["name"] for entry in config["input"]) == ["A", "B"]
        for entry in (*config["input"], *config["output"]):
            assert (entry["data_type"], entry["dims"]) == ("TYPE_FP32", [-1] if batched else [-1, -1])
        assert config["output"][0]["name"].startswith(first[name])
        assert answers[name][config["output"][0]["name"]].tolist() == (a + b).tolist()
    assert configs["partly"]["dynamic_batching"]["max_queue_delay_microseconds"] == 5
    assert [entry.get("allow_ragged_batch", False) for entry in configs["partly"]["input"]] == [False, True]


def test_more_outputs_than_the_pipeline_returns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "models" / "more" / "1").mkdir(parents=True)
    (tmp_path / "models" / "more" / "1" / "model.dali").write_bytes(declared(two_outputs))
    outputs = " ".join(f'output {{ name: "{name}" data_type: TYPE_FP32 dims: -1 }}' for name in "XYZ")
    (tmp_path / "models" / "more" / "config.pbtxt").write_text(f'backend: "dali" {outputs}')
    with pytest.raises(EnsembleError, match="the config has 3 outputs, but the pipeline returns 2"):
        TritonServer([tmp_path / "models"], completes=True, log=tmp_path / "log").start()


def cut_at_first_value() -> Any:
    length = fn.external_source(name="LENGTH", dtype=types.INT32, ndim=1)
    return fn.slice(fn.constant(fdata=[0.0] * 9, shape=[9]), 0, length[0], axes=[0])


def test_without_a_batch_axis_and_with_rows_of_different_shapes(model_server: ModelServer) -> None:
    """Otherwise max_batch_size 0 would be misread, or rows that cannot form one tensor would crash the model."""
    text = """name: "ragged" backend: "dali" max_batch_size: 0
    input [ { name: "LENGTH" data_type: TYPE_INT32 dims: [ -1, 1 ] } ]
    output [ { name: "CUT" data_type: TYPE_FP32 dims: [ -1, -1 ] } ]
    instance_group [ { count: 1 kind: KIND_CPU } ]"""
    model_server.load("ragged", text, {"1/model.dali": make_pipeline(cut_at_first_value)})
    lengths = np.full((6, 1), 3, np.int32)  # more rows than the pipeline's own batch size
    assert model_server.infer("ragged", ["CUT"], LENGTH=lengths)["CUT"].shape == (6, 3)
    with pytest.raises(triton.InferenceServerException, match=r"output CUT: .* different output shapes"):
        model_server.infer("ragged", ["CUT"], LENGTH=np.array([[2], [5]], np.int32))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name: "DALI_INPUT_0"', 'name: "IMAGE"', 'has input "IMAGE", but the file has "DALI_INPUT_0"'),
        ("TYPE_UINT8", "TYPE_INT32", "is TYPE_INT32 in the config, but TYPE_UINT8 in the file"),
        ("dims: [ -1 ]", "dims: [ -1, -1 ]", r"\[-1, -1, -1\] with the batch axis in the config, but \[-1, -1\]"),
        ("dims: [ 299, 299, 3 ]", "dims: [ 299, 299 ]", 'output "DALI_OUTPUT_0" is .* in the file'),
        ('"4"', '"four"', 'num_threads is "four", but must be a whole number'),
        ("", "", "model.dali is not a serialized DALI pipeline"),
    ],
)
def test_a_config_or_a_file_that_does_not_match_is_refused(
    model_server: ModelServer, old: str, new: str, message: str
) -> None:
    """Otherwise a wrong config would load, and fail at the first request with an internal message of DALI."""
    text = on_cpu("dali", "bad")
    assert old in text
    content = serialize() if old else b"junk" * 100
    reason = model_server.refusal(text.replace(old, new, 1), {"1/model.dali": content})
    assert re.search(message, reason), reason
