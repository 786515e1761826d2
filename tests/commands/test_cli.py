"""The command line as a user sees it: help, errors of one line, exit codes 0, 1 and 2."""

import re
import sys
import tomllib

import pytest

from checkout import ROOT
from tests.commands.projects import run, succeeded
from tests.pythons import python_or_skip
from tests.running import outcome
from triton_ensembles.commands.cli import COMMANDS
from triton_ensembles.server.interpreter import inspect_interpreter
from triton_ensembles.triton.pip_server import VERSION
from triton_ensembles.version import __version__


def test_help_lists_the_commands() -> None:
    done = outcome(sys.executable, "build.py", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: build.py [OPTIONS]")
    assert all(f"\n  {command} " in done.stdout for command in COMMANDS)


def test_the_version_is_that_of_the_package() -> None:
    """pyproject.toml has the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run("--version").stdout == f"triton-ensembles, version {__version__}\n"
    assert project["version"] == __version__


def test_make_without_a_target_prints_help() -> None:
    """The first thing that a newcomer types explains the rest."""
    done = outcome("make")
    assert done.returncode == 0
    assert "make demo" in done.stdout and "make test" in done.stdout


def test_setup_says_what_works_here_every_time() -> None:
    """Otherwise the second run prints nothing, and nobody knows which engines and images can be rehearsed."""
    result = succeeded(run("setup"))
    assert f"tritonserver {VERSION} and perf_analyzer in " in result.stderr
    assert "engines  onnxruntime" in result.stderr
    for python, images in (("3.10", "23.05 to 24.10"), ("3.12", "24.11 to ")):
        assert re.search(rf"(?m)(^Python   |not installed: ){python}, of Triton's images {images}", result.stderr)


@pytest.mark.parametrize("minor", ["3.10", "3.13"])
def test_a_newcomers_python_that_does_not_suit_is_replaced_by_one_that_does(minor: str) -> None:
    """Otherwise `make demo` refuses the python3 of a new distribution, though the machine has another one."""
    run = "runpy.run_module('triton_ensembles.server.machine', run_name='__main__')"
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy; {run}"
    done = outcome(python_or_skip(minor).executable, "-I", "-c", code)
    assert done.returncode == 0, done.stderr
    found = inspect_interpreter(done.stdout.strip())
    assert found is not None and found.minor in ("3.11", "3.12")


@pytest.mark.parametrize(
    ("minor", "elsewhere", "words"),
    [
        # Who has installed the wheel on a newer distribution has no make.
        ("3.13", "machine.IS_CHECKOUT = False", ("3.11 or 3.12 is needed, but this is 3.13", "uvx --python 3.12 --")),
        ("", "machine.OLDEST_GLIBC = (9, 9)", ("glibc 2.35 or newer, but this machine has 2.", "Debian 12 or newer")),
    ],
)
def test_the_check_of_the_machine_needs_nothing_installed_and_says_what_to_do(
    minor: str, elsewhere: str, words: tuple[str, ...]
) -> None:
    """It runs before `make setup`, so here without site-packages (-S -I)."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from triton_ensembles.server import machine; {elsewhere}\n"
        "try: machine.check_machine()\n"
        "except machine.EnsembleError as error: print(error)"
    )
    done = outcome(python_or_skip(minor).executable if minor else sys.executable, "-S", "-I", "-c", code)
    assert all(each in done.stdout for each in words), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("se", {"serve", "setup"}),
        ("build --image 24.", {"24.09", "24.12"}),
        ("deploy --instance ml.c5.", {"ml.c5.large", "ml.c5.xlarge"}),
        ("plan --instance ml.g5.1", {"ml.g5.12xlarge", "ml.g5.16xlarge"}),
        ("check --explain step-m", {"step-model-missing"}),
    ],
)
def test_a_tab_offers_what_there_is(typed: str, offered: set[str]) -> None:
    """Otherwise people look up in a browser what the next image or instance type is called."""
    asked = {"_BUILD_PY_COMPLETE": "bash_complete", "COMP_WORDS": f"build.py {typed}"}
    asked["COMP_CWORD"] = str(len(typed.split()))
    done = outcome(sys.executable, "build.py", **asked)
    assert {f"plain,{word}" for word in offered} <= set(done.stdout.split())


@pytest.mark.parametrize(
    ("typed", "offered"), [("", "undeploy"), ("build --image 24.", "24.09"), ("serve --image 24.", "24.09")]
)
def test_a_tab_imports_nothing_that_builds_or_serves(typed: str, offered: str) -> None:
    """Otherwise it takes seconds: numpy alone is a fifth of one."""
    code = "from triton_ensembles.commands.cli import main; main(prog_name='c')"
    asked = {"_C_COMPLETE": "bash_complete", "COMP_WORDS": f"c {typed}", "COMP_CWORD": str(len(typed.split()) or 1)}
    done = outcome(sys.executable, "-X", "importtime", "-c", code, **asked)
    assert f"plain,{offered}" in done.stdout
    assert "numpy" not in done.stderr and "triton_ensembles.serving" not in done.stderr
