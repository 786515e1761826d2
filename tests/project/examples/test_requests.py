"""Example requests as people write them, valid ones and others."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.folder import Examples, read_examples

CONFIG = """platform: "ensemble"
max_batch_size: 4
input [
  { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] },
  { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1 ] optional: true },
  { name: "PIXELS" data_type: TYPE_FP32 dims: [ 3, 4, 5 ] optional: true },
  { name: "COUNT" data_type: TYPE_INT8 dims: [ 2 ] optional: true }
]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
TEXT = {"name": "TEXT", "datatype": "BYTES", "shape": [1, 1], "data": ["one"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The examples folder of an ensemble, empty."""
    folder = tmp_path / "some" / "ensemble" / "examples"
    folder.mkdir(parents=True)
    (folder.parent / "config.pbtxt").write_text(CONFIG)
    return folder


def read(folder: Path, *inputs: dict[str, Any], outputs: Any = ()) -> Examples:
    (folder / "request.json").write_text(json.dumps({"inputs": inputs, "outputs": outputs}))
    return read_examples(folder.parents[1])


def file_tensor(name: str, datatype: str, shape: list[int], file: str, **parameters: str) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape, "parameters": {"file": file, **parameters}}


def test_data_may_be_nested_or_flat(folder: Path) -> None:
    """KServe v2 allows both."""
    count = {"name": "COUNT", "datatype": "INT8", "shape": [2, 2]}
    text = {**TEXT, "shape": [2, 1], "data": [["a"], ["b"]]}
    for data in ([[1, 2], [3, 4]], [1, 2, 3, 4]):
        (request,) = read(folder, text, {**count, "data": data}).requests
        assert request.inputs["COUNT"].tolist() == [[1, 2], [3, 4]]
        assert request.inputs["COUNT"].dtype == np.int8
        assert request.inputs["TEXT"].tolist() == [[b"a"], [b"b"]]


def test_a_file_is_what_its_suffix_and_the_datatype_say(folder: Path) -> None:
    (folder / "lines.txt").write_text("# a comment\nüber\n\ntwo\n")
    (folder / "blob.bin").write_bytes(b"\x00\xff")
    np.save(folder / "counts.npy", np.array([[1, 2], [3, 4]], np.int8))
    tensors = [
        file_tensor("TEXT", "BYTES", [-1, 1], "lines.txt"),
        file_tensor("IMAGE", "UINT8", [2, 1], "blob.bin"),
        file_tensor("COUNT", "INT8", [2, 2], "counts.npy"),
    ]
    (request,) = read(folder, *tensors).requests
    assert request.inputs["TEXT"].tolist() == [["über".encode()], [b"two"]]
    assert request.inputs["IMAGE"].tolist() == [[0], [255]]
    assert request.inputs["COUNT"].tolist() == [[1, 2], [3, 4]]
    (request,) = read(folder, file_tensor("TEXT", "BYTES", [1, 1], "blob.bin")).requests
    assert request.inputs["TEXT"].tolist() == [[b"\x00\xff"]]


def test_an_image_becomes_pixels(folder: Path) -> None:
    """Otherwise a network is sent another picture than the one beside the request."""
    stream = io.BytesIO()
    Image.new("RGB", (50, 40), (255, 0, 0)).save(stream, "PNG")
    (folder / "red.png").write_bytes(stream.getvalue())
    normal = {"mean": "0.485 0.456 0.406", "std": "0.229 0.224 0.225"}
    (request,) = read(folder, TEXT, pixels("red.png", **normal)).requests
    planes = request.inputs["PIXELS"][0]
    for plane, value in zip(planes, ((1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225), strict=True):
        np.testing.assert_allclose(plane, value, rtol=1e-5)  # red, green, blue


def test_perf_has_requests_of_its_own_where_they_are_written(folder: Path) -> None:
    read(folder, TEXT)
    many = {**TEXT, "shape": [6, 1], "data": list("abcdef")}
    (folder / "perf.json").write_text(json.dumps({"inputs": [many]}))
    examples = read_examples(folder.parents[1])
    assert [request.label for request in examples.requests] == ["request.json"]
    assert [row["TEXT"].tolist() for row in examples.rows()] == [[letter.encode()] for letter in "abcdef"]


def test_texts_of_the_user_take_the_place_of_the_examples(folder: Path) -> None:
    (request,) = read(folder, TEXT).requests
    assert request.with_texts(["x", "y"]).inputs["TEXT"].tolist() == [[b"x"], [b"y"]]
    (folder / "a.bin").write_bytes(b"a")
    examples = read(folder, TEXT, file_tensor("IMAGE", "UINT8", [1, -1], "a.bin"))
    with pytest.raises(EnsembleError, match="does not consist of one text a row"):
        examples.requests[0].with_texts(["x"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"inputs": [\n}', r"request\.json: this is not JSON that can be read: .* line 2 .*; a request is \{"),
        ("[]", r"request\.json: the request is wrong"),
        ('{"inputs": []}', r"request\.json: inputs is wrong"),
        ('{"inputs": [{"name": "TEXT", "datatype": "BYTES", "data": []}]}', r"inputs\.0\.shape is missing; a request"),
        (json.dumps({"inputs": [TEXT], "output": []}), r"output is not a key that is known here"),
    ],
)
def test_what_is_not_a_request_is_refused(folder: Path, text: str, message: str) -> None:
    (folder / "request.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(EnsembleError, match=message) as refused:
        read_examples(folder.parents[1])
    assert "\n" not in str(refused.value)


def count_of(file: str) -> dict[str, Any]:
    return file_tensor("COUNT", "INT8", [1, 2], file)


def pixels(file: str, **parameters: str) -> dict[str, Any]:
    return file_tensor("PIXELS", "FP32", [1, 3, 4, 5], file, **parameters)


COUNT = {"name": "COUNT", "datatype": "INT8", "shape": [1, 2]}


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([{**TEXT, "name": "TXT"}], "'TXT' is not an input of the ensemble; config.pbtxt has TEXT, IMAGE"),
        ([{**TEXT, "datatype": "FP32"}], 'datatype FP32, and the ensemble takes BYTES; write "datatype": "BYTES"'),
        ([{**TEXT, "shape": [1, 2]}], "TEXT has the shape [1, 2], and its data has 1 values; correct the shape"),
        ([{**TEXT, "shape": [1]}], "TEXT has the shape [1], and the ensemble takes [-1, 1]"),
        ([{**TEXT, "data": [1]}], "data of TEXT holds more than strings; quote each element"),
        ([{"name": "TEXT", "datatype": "BYTES", "shape": [1, 1]}], "TEXT has neither data nor a file"),
        ([TEXT, {**COUNT, "data": [1, 300]}], "data of COUNT is not all INT8"),
        ([TEXT, {**COUNT, "data": [1, None]}], "data of COUNT is not all INT8"),
        ([TEXT, {**COUNT, "shape": [2, 2], "data": [1, 2, 3, 4]}], "the inputs differ in their number of rows"),
        ([{**COUNT, "data": [1, 2]}], "the input TEXT is missing, and it is not optional"),
        ([TEXT, file_tensor("IMAGE", "UINT8", [1, -1], "no.jpg")], "names the file no.jpg, which does not exist; put"),
        ([TEXT, count_of("x.bin")], "x.bin cannot be read as INT8: save the tensor as .npy"),
        ([TEXT, count_of("x.npy")], "x.npy is not an array that NumPy has saved"),
        ([TEXT, count_of("f.npy")], "f.npy holds float64, not INT8; save it as int8"),
        ([TEXT, pixels("x.bin")], "x.bin is not an image"),
        ([TEXT, file_tensor("PIXELS", "FP32", [1, 60], "x.bin")], "x.bin can only be read as an image into a shape"),
        ([TEXT, pixels("x.bin", std="1")], "std of PIXELS is not three numbers: '1'"),
        ([file_tensor("TEXT", "BYTES", [-1, 1], "x.txt")], "x.txt 'utf-8' codec can't decode"),
    ],
)
def test_what_does_not_suit_the_ensemble_is_refused(folder: Path, tensors: list[dict[str, Any]], message: str) -> None:
    """With the file, what is wrong, and what to write instead."""
    for name in ("x.bin", "x.npy", "x.txt"):
        (folder / name).write_bytes(b"\xff\xfe")
    np.save(folder / "f.npy", np.zeros((1, 2)))
    with pytest.raises(EnsembleError) as caught:
        read(folder, *tensors)
    assert str(caught.value).partition(": ")[0].endswith("request.json")
    assert message in str(caught.value)


def test_an_unknown_output_is_refused(folder: Path) -> None:
    with pytest.raises(EnsembleError, match=r"'PUT' is not an output of the ensemble; config\.pbtxt has OUT"):
        read(folder, TEXT, outputs=[{"name": "PUT"}])
