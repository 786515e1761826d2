"""Parameters of backends: those of PyTorch by the releases that read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from triton_ensembles.checking.checker import check
from triton_ensembles.triton.destination import Destination

CONFIG = """\
platform: "pytorch_libtorch"
input [ { name: "INPUT__0", data_type: TYPE_FP32, dims: [ 4 ] } ]
output [ { name: "OUTPUT__0", data_type: TYPE_FP32, dims: [ 4 ] } ]
parameters { key: "KEY", value { string_value: "1" } }
"""


@pytest.mark.parametrize(
    ("key", "image", "words"),
    [
        ("ENABLE_NVFUSER", "23.11", ""),
        ("ENABLE_NVFUSER", "23.12", "until release 23.11, and the server is 23.12"),
        ("ENABLE_NVFUSER", "", "until release 23.11, and the server is 24.10"),
        ("INTRA_OP_THREAD_COUNT", "24.05", ""),
        ("INTRA_OP_THREAD_COUNT", "22.07", "since release 24.05, and the server is 22.07"),
        ("DISABLE_CUDNN", "24.05", "since release 24.06, and the server is 24.05"),
        ("INFERENCE_MODE", "22.07", ""),
        ("INFERENCE_MODE", "26.05", ""),
    ],
)
def test_a_parameter_is_judged_by_the_release(key: str, image: str, words: str, tmp_path: Path) -> None:
    """Otherwise somebody believes that instances have one thread each, or that a fuser is on."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "model.pt").write_bytes(b"")
    (tmp_path / "m" / "config.pbtxt").write_text(CONFIG.replace("KEY", key))
    report = check([tmp_path], Destination(image=image))
    found = [fault.message for fault in report.faults if fault.rule == "parameter-misspelled"]
    assert len(found) == bool(words) and all(words in message for message in found)
