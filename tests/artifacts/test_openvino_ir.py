"""OpenVINO's own format: the same bytes each time, or no file. Its answers: tests/runtime/backends/test_openvino.py."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files import write_files
from tests.runtime.backends.embedding import WIDTH
from tests.runtime.backends.networks import frozen_graph
from triton_ensembles.artifacts import Job, openvino_ir
from triton_ensembles.building.made.artifact_maker import MakerCall
from triton_ensembles.ground.errors import EnsembleError

SCORES = {
    "max_batch_size": 16,
    "input": [{"name": "input", "data_type": "TYPE_FP32", "dims": ["4"]}],
    "output": [{"name": "layer/scores", "data_type": "TYPE_FP32", "dims": ["3"]}],
}
VECTORS = {
    "max_batch_size": 16,
    "input": [{"name": "IDS", "data_type": "TYPE_INT32", "dims": ["-1"]}],
    "output": [{"name": "VECTORS", "data_type": "TYPE_FP32", "dims": ["-1", str(WIDTH)]}],
}


def make(content: bytes, name: str, config: dict[str, object], folder: Path) -> Path:
    """model.xml in ``folder / "made"``."""
    source = write_files(folder / "1", {name: content}) / name
    openvino_ir.make(Job(folder / "made", {name: source}, name, {"config": json.dumps(config)}, "", ""))
    return folder / "made" / "model.xml"


def test_making_it_again_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    """Otherwise the same build would give another archive each time. Each is made in a process of its own."""
    files = []
    for folder in (tmp_path / "one", tmp_path / "another" / "place"):
        source = write_files(folder / "1", {"model.graphdef": frozen_graph()}) / "model.graphdef"
        call = MakerCall("openvino_ir", {"config": json.dumps(SCORES)})
        call.run(Job(folder / "made", {source.name: source}, source.name, call.options, "", ""), "model", print)
        files.append(folder / "made" / "model.xml")
    for suffix in (".xml", ".bin"):
        content = files[0].with_suffix(suffix).read_bytes()
        assert content == files[1].with_suffix(suffix).read_bytes()
        assert str(tmp_path).encode() not in content


def test_a_config_of_another_model_and_what_is_no_model_fail_the_build(tmp_path: Path) -> None:
    """Otherwise only the server would notice."""
    wrong = SCORES | {"output": [{"name": "layer/marks", "data_type": "TYPE_FP32", "dims": ["3"]}]}
    with pytest.raises(EnsembleError, match='has output "layer/marks", but the file has'):
        make(frozen_graph(), "model.graphdef", wrong, tmp_path / "wrong")
    with pytest.raises(EnsembleError, match=r"OpenVINO cannot read model\.onnx"):
        make(b"junk", "model.onnx", VECTORS, tmp_path)


def test_no_process_is_forked_to_report_its_use() -> None:
    """It may never end, and holds the locks of the build: each later build waits for ever."""
    code = "import os; os.register_at_fork(before=lambda: print('forked', flush=True))"
    for module in ("openvino_ir", "int8_onnx"):
        code += f"; import triton_ensembles.artifacts.{module}"
    code += "; import nncf"
    assert (
        "forked" not in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
