"""The README: what `check` says at its top, and its smallest ensemble, typed in, built, served and asked."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from checkout import ROOT
from tests.checking.packing import write_folder
from tests.docs.blocks import Block, blocks_of
from tests.running import running
from tests.strangers.networks import copy_of
from triton_ensembles.triton.ports import Ports

README = ROOT / "README.md"
# The command that the README means, for a project elsewhere.
LAUNCHER = f'#!/bin/sh\nexec "{ROOT}/.venv/bin/python" "{ROOT}/build.py" --project . "$@"\n'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_folder(tmp_path_factory.mktemp("project"), {"ensembles": None, "bin/triton-ensembles": LAUNCHER})
    (folder / "bin" / "triton-ensembles").chmod(0o755)
    return folder


def blocks(kind: str) -> list[tuple[Block, str]]:
    """The blocks of a kind, and the output that the README shows right below each ("" where it shows none)."""
    found = blocks_of(README)
    return [
        (block, after.text if after.kind == "text" else "")
        for block, after in zip(found, [*found[1:], found[-1]], strict=True)
        if block.kind == kind
    ]


def shell(script: str, folder: Path) -> str:
    """What a shell prints for the script, errors included."""
    environment = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
    command = ["bash", "-u", "-c", script]
    output, errors = subprocess.PIPE, subprocess.STDOUT
    return subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=errors, text=True).stdout


def test_the_smallest_ensemble_is_built_served_and_asked(project: Path) -> None:
    """Otherwise the first ensemble that a newcomer writes, by copying, does not work."""
    ((written, _),) = blocks("sh run")
    assert shell(written.text, project) == ""
    ((serve, _),), ((ask, answer),) = blocks("sh serve"), blocks("sh ask")
    (command,) = serve.commands
    with contextlib.ExitStack() as ended:
        ports = ended.enter_context(Ports.reserved())
        options = [f"--{name}-port={getattr(ports, name)}" for name in ("http", "grpc", "metrics")]
        process = ended.enter_context(
            running(*f"{project}/bin/{command}".split(), *options, cwd=project, stderr=subprocess.STDOUT)
        )
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if "Ctrl-C stops it" in line:
                break
        else:
            raise AssertionError("".join(printed))
        assert shell(ask.text.replace(":8000/", f":{ports.http}/"), project).strip() == answer.strip()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)


def test_check_prints_the_faults_of_a_broken_repository_as_shown_at_the_top(project: Path) -> None:
    models = copy_of("sentiment", project / "broken").rename(project / "models")
    for file, right, wrong in (
        ("sentiment/config.pbtxt", 'output_map { key: "input_ids"', 'output_map { key: "input_id"'),
        ("labels/config.pbtxt", "dims: [ 2 ]", "dims: [ 3 ]"),
        ("tokenizer/1/model.py", '"TEXT")', '"TEXTS")'),
    ):
        text = (models / file).read_text()
        assert text.count(right) == 1
        (models / file).write_text(text.replace(right, wrong))
    shown = next(block for block in blocks_of(README) if block.kind == "text")
    assert without_time(shell("triton-ensembles check models/", project)) == without_time(shown.text)


def without_time(output: str) -> str:
    """The last line of check ends with the seconds that it took."""
    return re.sub(r" \(\d+\.\d+ s\)$", "", output.strip(), flags=re.MULTILINE)
