"""The license in an ONNX file's metadata is noted also after the build wrote the model in another format."""

from __future__ import annotations

import json
from pathlib import Path

from triton_ensembles.check import check
from triton_ensembles.check.fault import Severity


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
