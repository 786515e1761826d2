"""The license in an ONNX file's metadata is noted also after the build wrote the model in another format."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.checking.packing import faults, write
from triton_ensembles.checking import check
from triton_ensembles.checking.fault import Severity


def test_a_license_in_the_manifest_is_noted(tmp_path: Path) -> None:
    """OpenVINO's format has no metadata: an AGPL detector would look like any other."""
    folder = tmp_path / "models" / "yolov5.detector" / "1"
    folder.mkdir(parents=True)
    (folder / "model.xml").write_text("<net/>")
    (folder.parent / "config.pbtxt").write_text('backend: "openvino"\ndefault_model_filename: "model.xml"\n')
    artifacts = {"detector/1/model.xml": {"facts": {"license": "AGPL-3.0 License (https://example.com)"}}}
    (tmp_path / "models" / "manifest.json").write_text(json.dumps({"ensemble": "yolov5", "artifacts": artifacts}))
    (found,) = (fault for fault in check([tmp_path / "models"]).faults if fault.rule == "onnx-license")
    assert found.severity is Severity.NOTE and "AGPL-3.0 License" in found.message
    assert found.place.path.endswith("yolov5.detector/1/model.xml")


@pytest.mark.parametrize("key", ["license", "License", "LICENCE", " license "])
def test_exporters_differ_in_the_spelling_of_the_key(key: str, tmp_path: Path) -> None:
    """In an archive as in a folder."""
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    other = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [value], [other])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=8)
    made.metadata_props.add(key=key, value="AGPL-3.0")
    archive = write(
        tmp_path / "a.tar.gz",
        {
            "one/config.pbtxt": 'platform: "onnxruntime_onnx"\n'
            'input [ { name: "x" data_type: TYPE_FP32 dims: [ 1 ] } ]\n'
            'output [ { name: "y" data_type: TYPE_FP32 dims: [ 1 ] } ]\n',
            "one/1/model.onnx": made.SerializeToString(),
        },
    )
    (found,) = (fault for fault in faults(archive) if fault.rule == "onnx-license")
    assert "AGPL-3.0" in found.message
