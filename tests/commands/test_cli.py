"""The command line as a user sees it: help, errors of one line, exit codes 0, 1 and 2."""

import subprocess
import sys
import tomllib

import pytest
from click.testing import CliRunner

from checkout import ENSEMBLES, ROOT
from tests.commands.projects import run_in
from triton_ensembles.commands.cli import COMMANDS, main
from triton_ensembles.project.recipe.places import find_ensembles
from triton_ensembles.triton.interpreter import find_interpreter, inspect_interpreter
from triton_ensembles.version import __version__


def test_help_lists_the_commands_and_each_explains_itself() -> None:
    """Every command is in the list, and can be imported."""
    done = subprocess.run([sys.executable, "build.py", "--help"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"\n  {command} " in done.stdout
        help_text = CliRunner().invoke(main, [command, "--help"], prog_name="build.py").output
        assert help_text.startswith(f"Usage: build.py {command} [OPTIONS]")


def test_the_version_is_that_of_the_package() -> None:
    """pyproject.toml has the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert CliRunner().invoke(main, ["--version"]).stdout == f"triton-ensembles, version {__version__}\n"
    assert project["version"] == __version__


def test_an_unknown_ensemble_is_one_line_and_exit_2() -> None:
    """The error names the ensembles that there are."""
    done = run_in(ROOT, "build", "bert_tr")
    known = ", ".join(folder.name for folder in find_ensembles(ENSEMBLES))
    assert done.exit_code == 2
    words = f"ensembles: there is no ensemble 'bert_tr', and no such path; there are {known}"
    assert done.stderr.strip().endswith(words)


@pytest.mark.parametrize("arguments", [["build", "--weights", "none"], ["build", "--target", "tpu"], ["bild"]])
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    """A script can tell a misspelled option from a failure."""
    assert run_in(ROOT, *arguments).exit_code == 2


def test_a_misspelled_command_is_named() -> None:
    assert "No such command 'bild'. Did you mean 'build'?" in run_in(ROOT, "bild").stderr


def test_make_without_a_target_prints_help() -> None:
    """The first thing that a newcomer types explains the rest."""
    done = subprocess.run(["make"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert "make demo" in done.stdout and "make test" in done.stdout


@pytest.mark.parametrize("minor", ["3.10", "3.13"])
def test_a_newcomers_python_that_does_not_suit_is_replaced_by_one_that_does(minor: str) -> None:
    """Otherwise `make demo` refuses the python3 of a new distribution, though the machine has another one."""
    other = find_interpreter(minor)
    if other is None:
        pytest.skip(f"there is no Python {minor} here")
    command = [other.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy; "
               "runpy.run_module('triton_ensembles.triton.machine', run_name='__main__')"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = inspect_interpreter(done.stdout.strip())
    assert found is not None and found.minor in ("3.11", "3.12")


def test_a_newcomers_python_without_a_server_is_refused_with_the_line_that_works() -> None:
    """Who has installed the wheel on a newer distribution has no make."""
    newer = find_interpreter("3.13")
    if newer is None:
        pytest.skip("there is no Python 3.13 here")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from triton_ensembles.ground import paths\n"
        "paths.IS_CHECKOUT = False\nfrom triton_ensembles.triton import machine\n"
        "try: machine.check_machine()\n"
        "except machine.EnsembleError as error: print(error)"
    )
    done = subprocess.run([newer.executable, "-S", "-I", "-c", code], capture_output=True, text=True)
    assert "Python 3.11 or 3.12 is needed, but this is 3.13" in done.stdout
    assert "uvx --python 3.12 --from 'WHEEL[serve]' triton-ensembles" in done.stdout


def test_the_check_of_the_machine_needs_nothing_installed() -> None:
    """It runs before `make setup`, so here without site-packages (-S -I), and says what to do."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from triton_ensembles.triton import machine\n"
        "machine.check_machine(); machine.OLDEST_GLIBC = (9, 9)\n"
        "try: machine.check_machine()\n"
        "except machine.EnsembleError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True)
    assert "tritonserver needs glibc 2.35 or newer, but this machine has 2." in done.stdout
    assert "Debian 12 or newer" in done.stdout
