"""How model files are read: without their weights, and whatever is in them."""

import io
import os
from pathlib import Path

import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.checking.pieces import torchscript, varint
from triton_ensembles.checking.examples import GRAPH_IDENTITY, ONNX_IDENTITY
from triton_ensembles.checking.model_files.onnx import TYPES
from triton_ensembles.checking.model_files.read import FileReader

FILES = [ONNX_IDENTITY, GRAPH_IDENTITY, torchscript("def forward(self, one, other): return one + other, one - other")]


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
    after = b"\x5a" + varint(len(values[0])) + values[0] + b"\x62" + varint(len(values[1])) + values[1]
    weight = b"\x10\x01\x42\x01W\x4a" + varint(size)  # FLOAT, its name, raw_data
    initializer = b"\x2a" + varint(len(weight) + size) + weight
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.write(b"\x08\x08\x3a" + varint(len(initializer) + size + len(after)) + initializer)
        file.seek(size, os.SEEK_CUR)  # a hole
        file.write(after)
    counting = Counting(path)
    found = FileReader()("model.onnx", path.stat().st_size, io.BufferedReader(counting))
    assert found and found.inputs and [tensor.name for tensor in found.inputs] == ["X"]
    assert counting.read_so_far < 1 << 20


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(FILES), st.integers(0, 4000), st.binary(max_size=40))
def test_no_file_stops_the_reader(text: str, place: int, junk: bytes) -> None:
    """Otherwise one odd file ends the check."""
    whole = text.encode("utf-8", "surrogateescape")
    data = whole[: place % len(whole)] + junk + whole[place % len(whole) + len(junk) // 2 :]
    for format in (".onnx", ".graphdef", ".pt"):
        FileReader()(f"model{format}", len(data), io.BytesIO(data))


def test_the_types_are_those_of_onnx() -> None:
    """Otherwise a type has another number than in the format."""
    names = {"FP32": "FLOAT", "FP64": "DOUBLE", "FP16": "FLOAT16", "BF16": "BFLOAT16"}
    assert all(onnx.TensorProto.DataType.Value(names.get(name, name)) == number for number, name in TYPES.items())
