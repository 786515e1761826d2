"""`make gpu-proof`: a report only where there is a GPU, and with what failed or was not possible in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT
from triton_ensembles.artifacts.tensorrt.plan_builders import find_gpu

pytestmark = pytest.mark.slow

RUN = "import sys; from pathlib import Path; from tests.gpu.__main__ import main; sys.exit(main(Path(sys.argv[1])))"


def proof(report: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(programs)}
    command = [sys.executable, "-c", RUN, str(report)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_without_a_gpu_nothing_is_written(tmp_path: Path) -> None:
    """Otherwise the project has a report of a proof that did not take place."""
    done = proof(tmp_path / "gpu-proof.md", tmp_path)
    assert done.returncode == 1
    assert "this machine has no NVIDIA GPU" in done.stderr
    assert not (tmp_path / "gpu-proof.md").exists()


@pytest.mark.skipif(find_gpu() is not None, reason="this machine has a GPU, so the stand-in hides nothing")
def test_the_report_says_what_failed_and_what_was_not_possible(tmp_path: Path) -> None:
    """Otherwise a proof that failed reads like one that passed. The GPU is a stand-in for nvidia-smi that names one."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'A stand-in, 8.6'\n")
    program.chmod(0o755)
    done = proof(tmp_path / "gpu-proof.md", tmp_path)
    page = (tmp_path / "gpu-proof.md").read_text()
    assert done.returncode == 1
    assert "A stand-in (compute capability 8.6)" in page
    assert "| dali decodes the same pixels in tritonserver | **FAILED** |" in page
    assert "| resnet computes the same logits in tritonserver | not possible here | torch " in page
    assert "| a tensorrt plan is built and agrees with onnx runtime | not possible here | " in page
