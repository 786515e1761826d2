"""Sources are looked for before the first long work begins, and each only once."""

from pathlib import Path

import pytest

from tests.commands.projects import run_in
from tests.project.test_location import write_ensemble

# Port 9 of the loopback interface has no server.
RECIPE = """description = "one"
[sources.weights]
from = [{ url = "http://127.0.0.1:9/" }]
files = { "model.onnx" = "%s" }
[[artifacts]]
path = "double/1/weights.bin"
maker = "copy"
source = "weights"
file = "model.onnx"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """``early`` and ``plain`` can be built, and ``late``, the last of them, has a source that nobody has."""
    for name in ("early", "late", "plain"):
        write_ensemble(tmp_path, name)
    (tmp_path / "ensembles" / "late" / "ensemble.toml").write_text(RECIPE % ("0" * 64))
    return tmp_path


def test_a_missing_source_is_known_before_anything_is_built(project: Path) -> None:
    """Otherwise it is known after hours of work for the ensembles before it."""
    result = run_in(project, "build", "--weights", "pretrained")
    assert result.exit_code == 1
    asked = result.output.index("weights: looking for model.onnx")
    refused = result.output.index("ensemble.toml:4: the source file weights/model.onnx could not be downloaded")
    assert asked < refused < result.output.index("early.tar.gz") < result.output.index("plain.tar.gz")
    assert result.output.count("looking for model.onnx") == 1
    assert result.stderr.strip().splitlines()[-2] == "error: 1 of 3 ensembles could not be built:"


def test_an_archive_that_is_up_to_date_needs_no_source(project: Path) -> None:
    """Otherwise nothing works without a network."""
    assert run_in(project, "build", "early").exit_code == 0
    again = run_in(project, "build", "early", "plain")
    assert "looking for" not in again.output and again.exit_code == 0
