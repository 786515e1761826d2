"""The smallest ensemble of the README, typed in as it stands there: built, served, asked, broken and checked."""

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


def test_the_smallest_ensemble_is_built_served_asked_and_checked(project: Path) -> None:
    """Otherwise the first ensemble that a newcomer writes, by copying, does not work."""
    (written, _), *later = blocks("sh run")
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
    assert later
    for block, output in later:
        assert without_time(shell(block.text, project)) == without_time(output)


def without_time(output: str) -> str:
    """The last line of check ends with the seconds that it took."""
    return re.sub(r" \(\d+\.\d+ s\)$", "", output.strip(), flags=re.MULTILINE)
