"""The proof for GPUs, run where there is none: what it compares must be what is served, and it must not pretend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import gpu_proof
from benchmarks.gpu_proof import PROOF, Row, decoding, network, plan, report
from triton_ensembles.triton.model_config import ModelInstanceGroup
from triton_ensembles.triton.targets import gpu

HERE = replace(PROOF, name="cpu-proof", instance_kind=ModelInstanceGroup.KIND_CPU, dali_device="cpu")


def test_the_same_pixels_on_the_cpu_differ_by_nothing() -> None:
    row = decoding(HERE, print)
    assert row.passed
    assert "0.000 of 255 on average, 0.0 at the most" in row.seen


def test_the_same_network_on_the_cpu_differs_by_rounding() -> None:
    row = network(HERE, print)
    assert row.passed
    assert float(row.seen.split()[2]) < 1e-5


def test_without_a_gpu_nothing_is_proven_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report that was written on such a machine would pretend."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gpu_proof, "REPORT", tmp_path / "gpu-proof.md")
    assert gpu_proof.main() == 1
    assert "no NVIDIA GPU here" in capsys.readouterr().err
    assert not (tmp_path / "gpu-proof.md").exists()
    row = plan(gpu("24.10"), print)
    assert row.passed is None and "no NVIDIA GPU here" in row.seen


def test_the_report_says_what_failed_and_what_is_not_there() -> None:
    page = report("a GPU", [Row("one", True, "x"), Row("two", False, "y"), Row("three", None, "z")])
    assert "| one | passed | x |" in page and "| two | **FAILED** | y |" in page and "| three | not here | z |" in page
