"""Plans that their scripts have built on a machine without a GPU, where trtexec.py stands in for trtexec."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.commands.projects import run
from tests.places import borrowed
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.triton.targets import Target, gpu

# The release whose stubs the wheel carries, so that a machine without Python 3.10 can build for it too.
IMAGE = "24.10"

_PROGRAMS = {name: shutil.which(name) or name for name in ("sh", "tail", "dirname")}


@pytest.fixture
def target() -> Target:
    return gpu(IMAGE)


def with_tensorrt(target: Target, version: str) -> Target:
    """The target, with that TensorRT in its image."""
    return replace(target, release=replace(target.release, tensorrt=version))


@pytest.fixture
def mine(built: dict[str, Built], places: Places, tmp_path: Path) -> Places:
    """Places for one test, with the downloads and made files of the project's own."""
    return borrowed(places, tmp_path, "downloads", "store")


@pytest.fixture(scope="session")
def engines_once(built: dict[str, Built], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that `build.py engines` and its script write."""
    folder = tmp_path_factory.mktemp("engines")
    result = run("engines", "bert_trt", "--image", IMAGE, "--output", folder)
    assert result.exit_code == 0, result.output
    assert "docker run --rm --gpus all" in result.output
    programs = tmp_path_factory.mktemp("programs")
    _write_programs(programs)
    subprocess.run([folder / "bert_trt.bert-trt.sh"], check=True, env={"PATH": str(programs)})
    return folder


@pytest.fixture
def engines(engines_once: Path, tmp_path: Path) -> Path:
    """A copy of the folder of plans, which the test may change."""
    folder = tmp_path / "engines"
    shutil.copytree(engines_once, folder, copy_function=os.link)
    return folder


def _write_programs(folder: Path) -> None:
    for name, path in _PROGRAMS.items():
        (folder / name).symlink_to(path)
    stand_in = Path(__file__).with_name("trtexec.py")
    (folder / "trtexec").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{stand_in}" "$@"\n')
    (folder / "trtexec").chmod(0o755)
