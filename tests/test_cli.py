"""The command line as a user meets it: help that teaches, one line for a fault, exit codes 0, 1 and 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from triton_ensembles.building.build import Built
from triton_ensembles.building.recipe import find_ensembles
from triton_ensembles.paths import ENSEMBLES, ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "build.py", *arguments], capture_output=True, text=True, cwd=ROOT)


def test_help_lists_the_commands_and_each_explains_itself() -> None:
    text = run("--help")
    assert text.returncode == 0
    for command in ("build", "list", "serve", "demo", "setup"):
        assert f"\n  {command} " in text.stdout
        assert run(command, "--help").stdout.startswith("Usage: build.py")


def test_an_unknown_ensemble_is_one_line_and_exit_1() -> None:
    done = run("build", "bert_tr")
    assert done.returncode == 1
    known = ", ".join(folder.name for folder in find_ensembles(ENSEMBLES))
    assert done.stderr.strip() == f"error: ensembles: there is no ensemble 'bert_tr'; there are {known}"


@pytest.mark.parametrize("arguments", [["build", "--weights", "none"], ["build", "--target", "tpu"], ["bild"]])
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    assert run(*arguments).returncode == 2


def test_list_shows_steps_sizes_weights_environment_and_digest(built: dict[str, Built]) -> None:
    text = run("list").stdout
    assert "steps: preprocess (python) -> bert-trt (tensorrt_plan) -> postprocess (python)" in text
    for each in built.values():
        assert each.sha256 in text
        assert f"weights {each.manifest['weights']}" in text
    assert "tokenizers 0.22.1" in text


def test_make_without_a_target_prints_help() -> None:
    done = subprocess.run(["make"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert "make demo" in done.stdout and "make test" in done.stdout


def test_the_machine_check_needs_nothing_installed_and_names_the_cure(tmp_path: Path) -> None:
    """-S -I: no site-packages at all, as before `make setup`."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from triton_ensembles.triton import machine\n"
        "machine.check_machine(); machine.OLDEST_GLIBC = (9, 9)\n"
        "try: machine.check_machine()\n"
        "except machine.EnsembleError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True)
    assert "tritonserver needs glibc 2.35 or newer, this machine has 2." in done.stdout
    assert "Debian 12 or newer" in done.stdout
