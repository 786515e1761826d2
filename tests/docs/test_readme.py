"""The README: what `check` says at its top, and its smallest ensemble, typed in, built, served and asked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT
from tests.docs.blocks import blocks_of, type_smallest_ensemble
from tests.files import write_files
from tests.running import served_by
from tests.strangers.transcript import stable

README = ROOT / "README.md"
# The command that the README means, for a project elsewhere.
LAUNCHER = f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/build.py" --project . "$@"\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_files(tmp_path_factory.mktemp("project"), {"ensembles": None, "bin/triton-ensembles": LAUNCHER})
    (folder / "bin" / "triton-ensembles").chmod(0o755)
    return folder


def shell(script: str, folder: Path) -> str:
    """Run the script in a shell; returns what it prints, errors included."""
    environment = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    command = ["bash", "-u", "-c", script]
    output, errors = subprocess.PIPE, subprocess.STDOUT
    return subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=errors, text=True).stdout


def test_the_smallest_ensemble_is_built_served_and_asked(project: Path) -> None:
    """Otherwise the first ensemble that a newcomer writes, by copying, does not work."""
    type_smallest_ensemble(project)
    found = blocks_of(README)
    serve, ask = (next(block for block in found if block.kind == kind) for kind in ("sh serve", "sh ask"))
    (command,) = serve.commands
    answer = found[found.index(ask) + 1]
    with served_by(*f"{project}/bin/{command}".split(), cwd=project) as address:
        assert shell(ask.text.replace("localhost:8000", address), project).strip() == answer.text.strip()


def test_check_prints_the_faults_of_the_broken_example_as_shown_at_the_top(project: Path) -> None:
    """Otherwise the first command that a stranger types says something else than the page."""
    (project / "examples").symlink_to(ROOT / "examples")
    shown = next(block for block in blocks_of(README) if block.kind == "text")
    assert stable(shell("triton-ensembles check examples/broken", project)) == stable(shown.text)
