"""Model files that no backend can load, and tensors that differ from the config: on disk and in archives alike."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.checking.packing import faults, write, write_folder
from triton_ensembles.checking import examples
from triton_ensembles.checking.examples import io_tensor, parameter, python_model
from triton_ensembles.checking.fault import Fault
from triton_ensembles.checking.model_files.read import FileReader

Find = Callable[[str, dict[str, bytes | None]], list[Fault]]
CONTROL = (
    'sequence_batching { control_input [ { name: "START__1", control [ { kind: CONTROL_SEQUENCE_START, '
    "fp32_false_true: [ 0, 1 ] } ] } ] }"
)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>"
STORE = b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>'
ONNX = examples.ONNX_IDENTITY.encode()
EXTERNAL = examples.ONNX_EXTERNAL.encode()
GRAPH = examples.GRAPH_IDENTITY.encode()


class Add(torch.nn.Module):
    def forward(self, one: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return one + other, one - other


def script(module: torch.nn.Module) -> bytes:
    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(module), stream)
    return stream.getvalue()


def weights() -> bytes:
    stream = io.BytesIO()
    torch.save(Add().state_dict(), stream)
    return stream.getvalue()


def placeholder(*dims: int) -> bytes:
    """A graph with the placeholder X of this shape, and the node Y."""
    sizes = b"".join(b"\x12" + _field(b"\x08" + _varint(size % 2**64)) for size in dims)
    shape = b"\x0a\x05shape\x12" + _field(b"\x3a" + _field(sizes))
    node = b"\x0a\x01X\x12\x0bPlaceholder\x2a\x0b\x0a\x05dtype\x12\x02\x30\x01\x2a" + _field(shape)
    return b"\x0a" + _field(node) + GRAPH[GRAPH.index(b"\n\x19\n\x01Y") :]


def _field(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def network(shape: list[str | int | None], kind: int = TensorProto.FLOAT) -> bytes:
    """Identity: X -> Y; W is an initializer, which a request may not name as an input."""
    values = [helper.make_tensor_value_info(name, kind, shape) for name in ("X", "Y")]
    weight = numpy_helper.from_array(np.zeros(4, np.float32), "W")
    graph = helper.make_graph([helper.make_node("Identity", ["X"], ["Y"])], "g", values[:1], values[1:], [weight])
    return bytes(helper.make_model(graph).SerializeToString())


def config(
    backend: str, inputs: str = "X", outputs: str = "Y", size: int = 0, dims: str = "4", type: str = "FP32"
) -> str:
    made = [", ".join(io_tensor(name, type, dims) for name in names.split()) for names in (inputs, outputs)]
    head = f'platform: "{backend}"' if "_" in backend else f'backend: "{backend}"'
    return python_model(inputs=made[0], outputs=made[1], size=size, backend=head)


def fil(kind: str, type: str = "FP32") -> str:
    tensors = {"inputs": io_tensor("input__0", type), "outputs": io_tensor("output__0", dims="1")}
    return python_model(parameter("model_type", kind), **tensors, backend='backend: "fil"')


@pytest.fixture(params=["folder", "archive"])
def found(request: pytest.FixtureRequest, tmp_path: Path) -> Find:
    """The faults of a model with these files, that are about its files."""

    def find(text: str, files: dict[str, bytes | None]) -> list[Fault]:
        members = {"m/config.pbtxt": text.encode(), **{f"m/1/{name}": data for name, data in files.items()}}
        place = {"archive": tmp_path / "a.tar.gz", "folder": tmp_path / "models"}[request.param]
        path = (write if request.param == "archive" else write_folder)(place, members)
        about = ("model-file", "file-", "onnx", "torch", "graph", "fil-", "pytorch")
        return [each for each in faults(path) if each.rule.startswith(about)]

    return find


@pytest.mark.parametrize(
    ("backend", "files", "words"),
    [
        ("onnxruntime", {"model.onnx": POINTER}, "pointer of Git LFS"),
        ("python", {"model.py": POINTER}, "pointer of Git LFS"),
        ("onnxruntime", {"model.onnx": b""}, "it is empty"),
        ("tensorrt", {"model.plan": b""}, "it is empty"),
        ("pytorch", {"model.pt": PAGE}, "web page"),
        ("onnxruntime", {"model.onnx": STORE}, "error message of a store"),
        ("onnxruntime", {"model.onnx": ONNX[:-20]}, "breaks off"),
        ("onnxruntime", {"model.onnx": b"\x1f\x8b" + bytes(100)}, "not an ONNX model"),
        ("onnxruntime", {"model.onnx": weights()}, "not an ONNX model"),
        ("pytorch", {"model.pt": script(Add())[:-60]}, "breaks off"),
        ("pytorch", {"model.pt": weights()}, "what torch.save wrote"),
        ("pytorch", {"model.pt": ONNX}, "not a TorchScript module"),
        ("tensorflow_graphdef", {"model.graphdef": GRAPH[:-9]}, "breaks off"),
        ("tensorflow_graphdef", {"model.graphdef": b"node { name: 'X' }"}, "not a frozen TensorFlow graph"),
        ("tensorflow_savedmodel", {"model.savedmodel": None}, "no saved_model.pb"),
        ("tensorflow_savedmodel", {"model.savedmodel/saved_model.pb": POINTER}, "pointer of Git LFS"),
        ("onnxruntime", {"model.onnx": None}, "no model.onnx in it"),
        ("pytorch", {"model.pt": None}, "this is a folder"),
    ],
)
def test_a_file_that_is_no_model(backend: str, files: dict[str, bytes | None], words: str, found: Find) -> None:
    """Otherwise the server says it, after an upload of hours."""
    faults = [each for each in found(config(backend), files) if each.rule == "model-file-broken"]
    assert [words in each.message for each in faults] == [True], faults


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        (config("onnxruntime", size=8), {"model.onnx": ONNX}, set()),
        (config("onnxruntime", size=8, dims="4, 4"), {"model.onnx": ONNX}, {"onnx-tensor-dims"}),
        (config("onnxruntime", size=0, dims="-1, 4"), {"model.onnx": ONNX}, set()),
        (config("onnxruntime", size=8), {"model.onnx": network([1, 4])}, {"onnx-tensor-dims"}),
        (config("onnxruntime", size=0, dims="1, 4"), {"model.onnx": network([1, 4])}, set()),
        (config("onnxruntime", size=8), {"model.onnx": network([None, None])}, set()),
        (config("onnxruntime_onnx", size=0, type="BOOL"), {"model.onnx": network([4], TensorProto.BOOL)}, set()),
        ('backend: "onnxruntime"\nmax_batch_size: 8\n', {"model.onnx": ONNX}, set()),  # Triton completes it
        (config("onnxruntime", size=8), {"model.onnx": EXTERNAL, "model.data": bytes(15)}, {"onnx-external-data"}),
        (config("onnxruntime"), {"model.onnx": ONNX, "model.data": POINTER}, {"onnx-tensor-dims", "file-lfs-pointer"}),
        (config("onnxruntime", size=8), {"model.onnx": EXTERNAL, "model.data": bytes(16)}, set()),
        (config("pytorch"), {"model.pt": script(Add())}, {"torchscript-inputs"}),
        (config("pytorch", "one other", "A B"), {"model.pt": script(Add())}, set()),
        (config("pytorch", "INPUT__0 INPUT__1", "OUTPUT__1"), {"model.pt": script(Add())}, set()),
        (config("pytorch", "INPUT__1 INPUT__2", "OUTPUT__1"), {"model.pt": script(Add())}, {"torchscript-inputs"}),
        (config("pytorch", "one other", "OUTPUT__2"), {"model.pt": script(Add())}, {"torchscript-outputs"}),
        (config("pytorch", "one") + CONTROL, {"model.pt": script(Add())}, set()),
        (config("pytorch", "one other") + CONTROL, {"model.pt": script(Add())}, {"torchscript-inputs"}),
        (config("tensorflow_graphdef"), {"model.graphdef": placeholder(-1, 4)}, {"graphdef-tensor-dims"}),
        (config("tensorflow_graphdef", size=8), {"model.graphdef": placeholder(-1, 4)}, set()),
        (config("tensorflow_graphdef", size=8), {"model.graphdef": placeholder(1, 4)}, set()),
        (config("tensorflow_graphdef", size=8), {"model.graphdef": placeholder(-1, 5)}, {"graphdef-tensor-dims"}),
        (config("tensorflow_graphdef", size=8), {"model.graphdef": placeholder()}, set()),
        (config("tensorflow_graphdef", type="INT32"), {"model.graphdef": GRAPH}, {"graphdef-tensor-name"}),
        (config("pytorch", "other one"), {"model.pt": script(Add())}, set()),
        (config("pytorch", "one") + CONTROL.replace("__1", ""), {"model.pt": script(Add())}, {"pytorch-control-names"}),
        (fil("xgboost_json"), {"xgboost.json": b"{}"}, set()),
        (fil("xgboost_json") + 'default_model_filename: "a.json"', {"a.json": b"{}"}, set()),
        (fil("lightgbm", "FP64"), {"model.txt": b"tree"}, {"fil-input"}),
        (config("identity"), {"model.identity": POINTER}, {"file-lfs-pointer"}),
        (config("my_backend"), {"model.my": b"", "model.onnx": ONNX[:9]}, set()),
    ],
)  # fmt: skip
def test_tensors_and_weights(text: str, files: dict[str, bytes | None], expected: set[str], found: Find) -> None:
    """Otherwise an archive is built that cannot load, or one is refused that can."""
    assert {each.rule for each in found(text, files)} == expected


class Counting(io.FileIO):
    """A file that knows how much of it was read."""

    read_so_far = 0

    def readinto(self, buffer: bytearray) -> int | None:  # type: ignore[override]
        count = super().readinto(buffer)
        self.read_so_far += count or 0
        return count


def test_weights_are_not_read(tmp_path: Path) -> None:
    """Otherwise a check of a model of gigabytes takes as long as reading it."""
    size = 3 << 30
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4]).SerializeToString() for name in "XY"]
    after = b"\x5a" + _varint(len(values[0])) + values[0] + b"\x62" + _varint(len(values[1])) + values[1]
    weight = b"\x10\x01\x42\x01W\x4a" + _varint(size)  # FLOAT, its name, raw_data
    initializer = b"\x2a" + _varint(len(weight) + size) + weight
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.write(b"\x08\x08\x3a" + _varint(len(initializer) + size + len(after)) + initializer)
        file.seek(size, os.SEEK_CUR)  # a hole
        file.write(after)
    counting = Counting(path)
    found = FileReader()("model.onnx", path.stat().st_size, io.BufferedReader(counting))
    assert found and found.inputs and [tensor.name for tensor in found.inputs] == ["X"]
    assert counting.read_so_far < 1 << 20


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([ONNX, GRAPH, script(Add())]), st.integers(0, 4000), st.binary(max_size=40))
def test_no_file_stops_the_reader(whole: bytes, place: int, junk: bytes) -> None:
    """Otherwise one odd file ends the check."""
    data = whole[: place % len(whole)] + junk + whole[place % len(whole) + len(junk) // 2 :]
    for format in (".onnx", ".graphdef", ".pt"):
        FileReader()(f"model{format}", len(data), io.BytesIO(data))


def test_the_types_are_those_of_onnx() -> None:
    """Otherwise a type has another number than in the format."""
    from triton_ensembles.checking.model_files.onnx import _TYPES

    names = {"FP32": "FLOAT", "FP64": "DOUBLE", "FP16": "FLOAT16", "BF16": "BFLOAT16"}
    assert all(onnx.TensorProto.DataType.Value(names.get(name, name)) == number for number, name in _TYPES.items())
