"""The license in an ONNX file's metadata is noted also after the build wrote the model in another format."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from tests.checking.packing import faults, write, write_folder
from triton_ensembles.checking.examples import ONNX_IDENTITY, python_model
from triton_ensembles.checking.fault import Severity


def test_a_license_in_the_manifest_is_noted(tmp_path: Path) -> None:
    """OpenVINO's format has no metadata: an AGPL detector would look like any other."""
    artifacts = {"detector/1/model.xml": {"facts": {"license": "AGPL-3.0 License (https://example.com)"}}}
    files = {
        "yolov5.detector/1/model.xml": "<net/>",
        "yolov5.detector/config.pbtxt": 'backend: "openvino"\ndefault_model_filename: "model.xml"\n',
        "manifest.json": json.dumps({"ensemble": "yolov5", "artifacts": artifacts}),
    }
    (found,) = (fault for fault in faults(write_folder(tmp_path, files)) if fault.rule == "onnx-license")
    assert found.severity is Severity.NOTE and "AGPL-3.0 License" in found.message
    assert found.place.path.endswith("yolov5.detector/1/model.xml")


@pytest.mark.parametrize("key", ["license", "License", "LICENCE", " license "])
def test_exporters_differ_in_the_spelling_of_the_key(key: str, tmp_path: Path) -> None:
    """In an archive as in a folder."""
    model = onnx.load_from_string(ONNX_IDENTITY.encode())
    model.metadata_props.add(key=key, value="AGPL-3.0")
    config = python_model(backend='platform: "onnxruntime_onnx"')
    files = {"one/config.pbtxt": config, "one/1/model.onnx": model.SerializeToString()}
    (found,) = (fault for fault in faults(write(tmp_path / "a.tar.gz", files)) if fault.rule == "onnx-license")
    assert "AGPL-3.0" in found.message
