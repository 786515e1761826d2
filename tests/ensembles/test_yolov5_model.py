"""Detectors of either head come out in one form: RGB from 0 to 255, any batch, the names of the config."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from ensembles.yolov5 import make_labels, make_model
from ensembles.yolov5.yolox import CLASSES, Yolox
from tests.runtime.backends.networks import model_of
from triton_ensembles.artifacts import Job
from triton_ensembles.ground.errors import EnsembleError

LICENSE = "AGPL-3.0 License (https://example.com/license)"


def detector(
    path: Path, rows: int, columns: int = 85, output: str = "output0", side: int = 640, batch: tuple[int, ...] = (1, 3)
) -> Path:
    """An ONNX file with the tensors of a detector, whose rows are the mean colors: three weights for each column."""
    weights = np.random.default_rng(1).random((3, columns), dtype=np.float32)
    constants = {"W": weights, "S": np.array(batch, np.int64), "T": np.array([1, 1, columns], np.int64)}
    constants["U"] = np.array([1, rows, 1], np.int64)
    nodes = [
        helper.make_node("GlobalAveragePool", ["images"], ["output"]),  # a name that the result will have
        helper.make_node("Reshape", ["output", "S"], ["flat"]),
        helper.make_node("MatMul", ["flat", "W"], ["row"]),
        helper.make_node("Reshape", ["row", "T"], ["one"]),
        helper.make_node("Tile", ["one", "U"], [output]),
    ]
    tensors = [("images", [1, 3, side, side]), (output, [1, rows, columns])]
    image, found = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in tensors)
    model = onnx.load_from_string(model_of(nodes, [image], [found], constants, opset=12))
    helper.set_model_props(model, {"license": LICENSE, "author": "someone"})
    onnx.save(model, path)
    return path


def made(source: Path, tmp_path: Path) -> tuple[dict[str, Any], onnx.ModelProto]:
    job = Job(tmp_path / "model.onnx", {source.name: source}, source.name, {}, "", "")
    return make_model.make(job), onnx.load(job.output)


@pytest.mark.parametrize(("rows", "head"), [(25200, "YOLOv5"), (8400, "YOLOX")])
def test_either_head_takes_the_same_pixels(tmp_path: Path, rows: int, head: str) -> None:
    """Otherwise a user's own YOLOv5 would be given the pixels of YOLOX, and find nothing."""
    source = detector(tmp_path / "yolo.onnx", rows)
    facts, model = made(source, tmp_path)
    assert (facts["head"], facts["license"]) == (head, LICENSE)
    assert {each.key: each.value for each in model.metadata_props} == {"license": LICENSE, "author": "someone"}
    images = np.random.default_rng(2).integers(0, 256, (3, 3, 640, 640)).astype(np.float32)
    (found,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(["output"], {"images": images})
    assert found.shape == (3, rows, 85)
    trained = images[:, ::-1] if head == "YOLOX" else images / 255
    original = onnxruntime.InferenceSession(source)
    for row, image in zip(found, trained, strict=True):
        (expected,) = original.run(None, {"images": np.ascontiguousarray(image[None])})
        np.testing.assert_allclose(row, expected[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rows": 84}, r"returns \[\(1, 84, 85\)\], and this ensemble is for"),
        ({"rows": 8400, "columns": 6}, r"returns \[\(1, 8400, 6\)\]"),
        ({"rows": 8400, "side": 416}, r"takes \[\(1, 3, 416, 416\)\]"),
        ({"rows": 8400, "batch": (3,)}, r"yolo\.onnx is for a batch of one, and takes no more"),
    ],
)
def test_other_networks_are_refused(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    source = detector(tmp_path / "yolo.onnx", **change)
    with pytest.raises(EnsembleError, match=reason):
        made(source, tmp_path)


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "yolo.onnx"
    source.write_bytes(b"<html>not found</html>")
    with pytest.raises(EnsembleError, match=r"yolo\.onnx is not an ONNX file"):
        made(source, tmp_path)


def test_there_is_a_label_for_each_class() -> None:
    labels = make_labels.COCO.split(", ")
    assert (len(labels), labels[0], labels[62], labels[-1]) == (CLASSES, "person", "tv", "toothbrush")


def test_the_random_network_is_yolox_s() -> None:
    """Otherwise its speed would say nothing of the released one. 9.0 M is on YOLOX's page, 8968255 in its model."""
    assert sum(value.numel() for value in Yolox().parameters()) == 8968255
