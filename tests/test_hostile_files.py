"""Files that a stranger wrote to stall a command, where files are read before any repository: each is a line."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.checking.packing import MODEL_PY, python_step
from tests.commands.projects import run_in
from tests.files import write_files
from triton_ensembles.building.made.lock import Lock
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.checking.baseline import Baseline
from triton_ensembles.checking.checker import check
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import parse_json
from triton_ensembles.project.location import find_project
from triton_ensembles.triton.targets import CPU

ENDLESS = [os.mkfifo, lambda path: path.symlink_to("/dev/zero")]


@pytest.mark.parametrize("make", ENDLESS, ids=["a pipe", "a device"])
def test_what_never_ends_is_no_file(make: Callable[[Path], None], tmp_path: Path) -> None:
    """Otherwise a command waits for ever, or reads until memory is full."""
    write_chain(tmp_path)
    folder = tmp_path / "ensembles" / NAME
    plan = plan_build(folder, CPU)
    (folder / "locks").mkdir()
    for path in (tmp_path / "pyproject.toml", tmp_path / "known.json", folder / "locks" / "e-python3.10.lock"):
        make(path)
    for read in (
        lambda: find_project(tmp_path),
        lambda: Baseline.read(tmp_path / "known.json"),
        lambda: Lock(plan, "e", "3.10", ["numpy"]),
    ):
        with pytest.raises(EnsembleError, match=r"pyproject\.toml|known\.json|e-python"):
            read()
    (tmp_path / "pyproject.toml").unlink()
    assert "recipe-lock" in {fault.rule for fault in check([folder]).faults}


@pytest.mark.parametrize("text", ["[" + "[]," * 2_000_000, "{" * 2_000_000, f"[{'1,' * 9_000_000}1]", "[" * 100_000])
def test_json_that_would_fill_the_memory_is_not_parsed(text: str) -> None:
    with pytest.raises(ValueError, match=r"too many values|too deeply"):
        parse_json(text)
    assert len(parse_json(json.dumps([[1.5] * 224] * 224 * 3))) == 672


def test_many_environment_files_are_read_up_to_a_limit(tmp_path: Path) -> None:
    """Otherwise each of them takes half a second, and there may be thousands."""
    write_chain(tmp_path)
    folder = tmp_path / "ensembles" / NAME
    (tmp_path / "envs").mkdir()
    recipe = (folder / "ensemble.toml").read_text()
    for number in range(5):
        packages = "".join(f"  - package{each}=1.0.{number}\n" for each in range(1500))
        (tmp_path / "envs" / f"{number}.yml").write_text(f"dependencies:\n  - python=3.10\n{packages}")
        recipe += f'[environments.e{number}]\nfile = "envs/{number}.yml"\nsteps = ["s{number}"]\n'
    (folder / "ensemble.toml").write_text(recipe)
    faults = [fault for fault in check([folder]).faults if fault.rule == "recipe-environment-file"]
    assert any("longer than 128 KiB together" in fault.message for fault in faults)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"data": [' + b"[]," * 2_000_000, "too many values"),
        (b'{"data": 3}', "no list of rows under 'data'"),
        (b'{"data": [' + b" " * (33 << 20) + b"1]}", "longer than 32 MiB"),
        (b"\xff", "cannot be read as JSON"),
    ],
)
def test_input_data_of_perf_is_looked_at_before_anything_is_built(content: bytes, words: str, tmp_path: Path) -> None:
    """Otherwise perf_analyzer crashes, waits or takes gigabytes, after minutes of building."""
    write_chain(tmp_path)
    data = tmp_path / "rows.json"
    data.write_bytes(content)
    done = run_in(tmp_path, "perf", NAME, "--input-data", data)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not (tmp_path / "dist").exists()


def test_a_path_that_no_system_takes_is_a_fault_of_the_recipe(tmp_path: Path) -> None:
    """Otherwise ten rules fail on it, and the build ends in a traceback."""
    write_chain(tmp_path)
    folder = tmp_path / "ensembles" / NAME
    with (folder / "ensemble.toml").open("a") as recipe:
        recipe.write(f'[environments.e]\nfile = "{"y/" * 3000}e.yml"\nsteps = ["first"]\n')
    found = check([folder])
    assert found.errors == 1
    assert any("this path is longer than 2000 bytes" in fault.message for fault in found.faults)


@pytest.mark.parametrize("make", ENDLESS, ids=["a pipe", "a device"])
def test_what_never_ends_is_not_packed(make: Callable[[Path], None], tmp_path: Path) -> None:
    """Otherwise `build` of a repository copies a device until the disk is full."""
    write_chain(tmp_path)
    write_files(tmp_path / "models", {"m/config.pbtxt": python_step(), "m/1/model.py": MODEL_PY})
    make(tmp_path / "models" / "m" / "1" / "weights.bin")
    done = run_in(tmp_path, "build", f"{tmp_path}/models")
    assert done.exit_code == 1
    assert "weights.bin: this is a device or a pipe, not a file; remove it" in done.stderr
