"""The dali backend in the real server, on real photographs."""

import re
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
from tests.configs import ON_CPU, tensors
from tests.ensembles.clients import PHOTOGRAPHS, infer, png, rows, saved
from tests.files import write_files
from tests.running import serving
from tests.runtime.backends.conftest import Array, ModelServer, on_cpu
from tests.runtime.backends.embedding import parameter
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.processes import descendants
from triton_ensembles.server.triton_server import TritonServer

IN, OUT = "DALI_INPUT_0", "DALI_OUTPUT_0"
PICTURES = [Image.open(path) for path in PHOTOGRAPHS]  # 640 x 427
JPEGS = [saved(picture, "JPEG") for picture in PICTURES]


@pytest.fixture(scope="module")
def server(model_server: ModelServer) -> ModelServer:
    model_server.load("dali", on_cpu("dali"), {"1/model.dali": serialize()})
    return model_server


def ask(server: ModelServer, *images: bytes, model: str = "dali") -> Array:
    return server.infer(model, [OUT], **{IN: rows(images)})[OUT]


def ask_together(server: ModelServer, requests: list[list[bytes]], more_than: int = 0) -> list[Any]:
    """The outputs (or exceptions) of concurrent requests."""
    answers = server.infer_together("dali", [OUT], [{IN: rows(images)} for images in requests], more_than=more_than)
    return [answer[OUT] if isinstance(answer, dict) else answer for answer in answers]


def assert_preprocessed(answer: Array, *images: bytes) -> None:
    """As pipelines/dali_pipe.py does it."""
    for pixels, image in zip(answer, images, strict=True):
        np.testing.assert_array_equal(pixels, preprocess(image))


def test_concurrent_images_of_different_sizes_are_one_batch(server: ModelServer) -> None:
    """Otherwise every photograph would be decoded alone, or a client would get another client's image."""
    images = [saved(PICTURES[n % 2].crop((0, 0, 600 - 30 * n, 200 + 20 * n)), "JPEG") for n in range(10)]
    for answer, image in zip(ask_together(server, [[image] for image in images], more_than=1), images, strict=True):
        assert_preprocessed(answer, image)


def test_formats_that_are_accepted(server: ModelServer) -> None:
    """Otherwise a photograph in a common format would be refused, or come out in wrong colors."""
    formats = ["PNG/RGB", "PNG/RGBA", "PNG/P", "JPEG/L", "JPEG/CMYK", "BMP/RGB", "TIFF/RGB", "WEBP/RGB"]
    pictures = {kind: PICTURES[0].convert(kind.partition("/")[2]) for kind in formats}
    images = [saved(picture, kind.partition("/")[0]) for kind, picture in pictures.items()]
    images.append(saved(PICTURES[0], "JPEG", progressive=True))
    pictures["progressive"] = PICTURES[0]
    answers = ask_together(server, [[image] for image in images])
    for answer, (kind, picture) in zip(answers, pictures.items(), strict=True):
        assert not isinstance(answer, Exception), (kind, answer)
        pixels = np.asarray(picture.convert("RGB").resize((299, 299), Image.Resampling.BILINEAR), np.float32)
        assert np.abs(answer[0] - (pixels / 127.5 - 1)).mean() < 0.02, kind


def test_one_pixel_and_none(server: ModelServer) -> None:
    """Otherwise the smallest image would be an error or garbage, or an empty upload could hang or break the model."""
    with pytest.raises(triton.InferenceServerException):
        ask(server, b"")
    answer = ask(server, saved(Image.new("RGB", (1, 1), "white"), "PNG"))
    np.testing.assert_array_equal(answer, np.ones((1, 299, 299, 3), np.float32))


def bomb(side: int, lines: int) -> bytes:
    """A PNG that claims side x side black pixels and holds that many lines of them."""
    return png(side, side, bytes((1 + 3 * side) * lines))


NO_IMAGE = "not an image that DALI can decode"
HALF = JPEGS[0][: len(JPEGS[0]) // 2]
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "text": (lambda: b"this is no image at all", NO_IMAGE),
    "zeros": (lambda: bytes(500), NO_IMAGE),
    "cut off in its header": (lambda: JPEGS[0][:300], NO_IMAGE),
    "cut off": (lambda: HALF, f"{NO_IMAGE}: .*broken or cut off"),
    "padded": (lambda: HALF + bytes(9999), f"{NO_IMAGE}: .*broken or cut off"),
    "PNG cut off": (lambda: saved(PICTURES[0], "PNG")[:200_000], NO_IMAGE),
    "a false size": (lambda: bomb(50_000, 1), "50000 x 50000 .* max_image_pixels"),
    "a decompression bomb": (lambda: bomb(12_000, 12_000), "12000 x 12000 .* max_image_pixels"),
}


def memory_megabytes(pid: int, field: str) -> float:
    """VmRSS, what it uses, or VmHWM, the most that it has used."""
    (found,) = re.findall(rf"{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found) / 1024


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_row_fails_only_its_own_request(server: ModelServer, bad: str) -> None:
    """Otherwise one broken upload would fail every request of the same batch."""
    make, message = BAD[bad]
    broken = make()
    processes = [server.server.pid, *descendants(server.server.pid)]
    before = sum(memory_megabytes(pid, "VmRSS") for pid in processes)
    for pid in processes:
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak is measured from here on
    first, refusal, last = ask_together(server, [JPEGS[:1], [*JPEGS[::-1], broken], JPEGS[1:]])
    assert_preprocessed(first, JPEGS[0])
    assert_preprocessed(last, JPEGS[1])
    assert isinstance(refusal, triton.InferenceServerException)
    assert refusal.status() == "StatusCode.INVALID_ARGUMENT"
    assert re.search(f"row 2 of {IN}: .*{message}", str(refusal.message()))
    peak = sum(memory_megabytes(pid, "VmHWM") for pid in processes)
    assert peak - before < 300  # the smaller bomb has 432 MB of pixels
    assert_preprocessed(ask(server, JPEGS[1]), JPEGS[1])


def test_large_images_are_decoded_in_several_runs(server: ModelServer) -> None:
    """Otherwise a batch of the largest images that are allowed would need the memory of all of them at once."""
    limited = on_cpu("dali", "small") + parameter("max_image_pixels", "300000")  # one photograph has 273 280
    server.load("small", limited, {"1/model.dali": serialize()})
    images = [*JPEGS, saved(PICTURES[1].crop((0, 0, 50, 50)), "PNG"), JPEGS[0]]
    assert_preprocessed(ask(server, *images, model="small"), *images)


def make_pipeline(graph: Callable[[], Any], **options: Any) -> bytes:
    made = pipeline_def(graph)(batch_size=4, num_threads=1, device_id=None, prefetch_queue_depth=1, **options)
    serialized: bytes = made.serialize()
    return serialized


A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((2, 3), 2, np.float32)


def two_outputs() -> Any:
    a = fn.external_source(name="A", dtype=types.FLOAT, ndim=1)
    b = fn.external_source(name="B", dtype=types.FLOAT, ndim=1)
    return a + b, a * b


def test_any_pipeline_returns_the_requested_outputs(model_server: ModelServer) -> None:
    """Otherwise the backend would only serve image pipelines with one input and one output."""
    declared = tensors("B:FP32:-1 A:FP32:-1", "SUM:FP32:-1 PRODUCT:FP32:-1")
    text = f'backend: "dali" max_batch_size: 4\n{declared}{ON_CPU}'
    model_server.load("two", text, {"1/model.dali": make_pipeline(two_outputs)})
    assert model_server.infer("two", ["PRODUCT"], A=A, B=B)["PRODUCT"].tolist() == (A * B).tolist()
    assert model_server.infer("two", ["PRODUCT", "SUM"], A=A, B=B)["SUM"].tolist() == (A + B).tolist()
    with pytest.raises(triton.InferenceServerException, match="row 0 of A, B: DALI refuses it"):
        model_server.infer("two", ["SUM"], A=np.ones((1, 3), np.float32), B=np.ones((1, 2), np.float32))


COMPLETED = {
    "nothing": 'backend: "dali"',
    "unbatched": 'backend: "dali" max_batch_size: 0',
    "partly": """backend: "dali" max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 5 }
        input { name: "B" data_type: TYPE_FP32 } output { name: "SUM" }""",
}


def test_the_pipeline_says_what_the_config_leaves_out(tmp_path: Path) -> None:
    """As dali_backend's own qa/L0_autoconfig has it, and check says nothing of it."""
    pipeline = make_pipeline(two_outputs, output_dtype=[types.FLOAT] * 2, output_ndim=[1] * 2)
    for name, config in COMPLETED.items():
        write_files(tmp_path / name, {"1/model.dali": pipeline, "config.pbtxt": config})
    assert not [fault for fault in check([tmp_path]).faults if fault.severity == "error"]
    with serving(TritonServer([tmp_path], completes=True)) as server:
        client = http.InferenceServerClient(server.http_url)
        configs = {name: client.get_model_config(name) for name in COMPLETED}
        answers = {name: infer(client, name, {"A": A, "B": B}) for name in COMPLETED}
    first = {"nothing": "__", "unbatched": "__", "partly": "SUM"}
    for name, config in configs.items():
        batched = name != "unbatched"
        assert config["max_batch_size"] == {"unbatched": 0, "partly": 8}.get(name, 4)
        assert ("dynamic_batching" in config) == batched
        assert sorted(entry["name"] for entry in config["input"]) == ["A", "B"]
        for entry in (*config["input"], *config["output"]):
            assert (entry["data_type"], entry["dims"]) == ("TYPE_FP32", [-1] if batched else [-1, -1])
        assert config["output"][0]["name"].startswith(first[name])
        assert answers[name][config["output"][0]["name"]].tolist() == (A + B).tolist()
    assert configs["partly"]["dynamic_batching"]["max_queue_delay_microseconds"] == 5
    assert [entry.get("allow_ragged_batch", False) for entry in configs["partly"]["input"]] == [False, True]


def cut_at_first_value() -> Any:
    length = fn.external_source(name="LENGTH", dtype=types.INT32, ndim=1)
    return fn.slice(fn.constant(fdata=[0.0] * 9, shape=[9]), 0, length[0], axes=[0])


def test_without_a_batch_axis_and_with_rows_of_different_shapes(model_server: ModelServer) -> None:
    """Otherwise max_batch_size 0 would be misread, or rows that cannot form one tensor would crash the model."""
    text = f'name: "ragged" backend: "dali" max_batch_size: 0\n{tensors("LENGTH:INT32:-1,1", "CUT:FP32:-1,-1")}{ON_CPU}'
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
        (
            "output [",
            'output [ { name: "Z" data_type: TYPE_FP32 dims: 1 },',
            "config has 2 outputs, but the pipeline returns 1",
        ),
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
