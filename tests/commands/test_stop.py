"""SIGTERM and Ctrl-C end every command in the same way: with its children, and with nothing left in /tmp."""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from checkout import ROOT
from tests.commands.projects import command
from tests.project.test_location import write_ensemble
from tests.running import running
from triton_ensembles.ground.processes import end
from triton_ensembles.triton.ports import Ports

# It says that it works, and never ends. It holds the pipe as long as it lives, so that its end is that of the pipe.
SLEEPER = """#!{python}
import os, sys, tempfile, time
open(os.path.join(tempfile.gettempdir(), f"left-{{os.getpid()}}"), "w").close()
pipe = os.open({pipe!r}, os.O_WRONLY)
os.write(pipe, b"working\\n")
time.sleep(3600)
"""


class Stuck(NamedTuple):
    """A project whose build waits for a program for ever."""

    project: Path
    pipe: Path
    environment: dict[str, str]
    temporary: Path


def sleeper(file: Path, pipe: Path) -> Path:
    """A program that writes a temporary file, writes a line into ``pipe`` and sleeps."""
    file.write_text(SLEEPER.format(python=sys.executable, pipe=os.fspath(pipe)))
    file.chmod(0o755)
    return file


@pytest.fixture
def stuck(tmp_path: Path) -> Stuck:
    """The environment of the step is made from an installed Python, with an ldd that never ends."""
    write_ensemble(tmp_path, "doubler")
    recipe = tmp_path / "ensembles" / "doubler" / "ensemble.toml"
    recipe.write_text('description = "one"\n[environments.own]\nfile = "own.yml"\nsteps = ["double"]\n')
    packages = f"channels: ['file://{tmp_path}/none']\ndependencies: [python=3.11, numpy=1.26.4]\n"
    (tmp_path / "own.yml").write_text(packages)
    pipe, programs, temporary = tmp_path / "pipe", tmp_path / "bin", tmp_path / "tmp"
    os.mkfifo(pipe)
    programs.mkdir()
    temporary.mkdir()
    inner = sleeper(programs / "ldd-child", pipe)
    # A program whose own child does the work, as pip has.
    (programs / "ldd").write_text(f"#!/bin/sh\n{shlex.quote(os.fspath(inner))}\nexit 1\n")
    (programs / "ldd").chmod(0o755)
    path = os.pathsep.join((os.fspath(programs), os.environ["PATH"]))
    return Stuck(tmp_path, pipe, os.environ | {"PATH": path, "TMPDIR": os.fspath(temporary)}, temporary)


@pytest.mark.parametrize(
    ("word", "number"),
    [("build", signal.SIGTERM), ("build", signal.SIGINT), ("serve", signal.SIGTERM), ("demo", signal.SIGINT)],
)
def test_a_signal_ends_a_build_and_all_that_it_has_started(stuck: Stuck, word: str, number: int) -> None:
    options = {"env": stuck.environment, "stderr": subprocess.PIPE}
    with Ports.reserved() as ports:
        names = ("http", "grpc", "metrics") if word == "serve" else ()
        words = [word, *(f"--{name}-port={getattr(ports, name)}" for name in names)]
        with (
            running(*command(stuck.project, *words), ignoring=signal.SIGINT, **options) as process,
            stuck.pipe.open() as pipe,
        ):
            assert pipe.readline() == "working\n"
            assert list(stuck.temporary.rglob("left-*"))
            process.send_signal(number)
            assert pipe.read() == ""  # the end of the last program that holds it
            _, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    assert errors.splitlines()[-1] == f"stopped by {'Ctrl-C' if number == signal.SIGINT else 'SIGTERM'}"
    assert list(stuck.temporary.iterdir()) == []
    assert not (stuck.project / "dist").exists()


def test_what_a_program_started_in_a_session_of_its_own_ends_with_it(tmp_path: Path) -> None:
    """As a maker runs pip. What ignores SIGTERM is killed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    inner = sleeper(tmp_path / "sleeper", pipe)
    inner.write_text(inner.read_text().replace("import os,", "import signal, os,", 1))
    inner.write_text(inner.read_text().replace("pipe = ", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\npipe = ", 1))
    code = f"import subprocess; subprocess.run([{os.fspath(inner)!r}], start_new_session=True)"
    environment = os.environ | {"TMPDIR": os.fspath(tmp_path)}
    with running(sys.executable, "-c", code, env=environment) as process, pipe.open() as stream:
        assert stream.readline() == "working\n"
        end(process, seconds=0.1)
        assert stream.read() == ""
    assert process.returncode == -signal.SIGTERM


def test_what_a_killed_command_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Otherwise each one leaves an environment of gigabytes in /tmp. Those of running commands stay."""
    write_ensemble(tmp_path, "doubler")
    temporary = tmp_path / "tmp"
    for name in ("killed", "running", "new"):
        (temporary / f"triton-ensembles-{name}" / "prefix").mkdir(parents=True)
    (temporary / "other").mkdir()
    handle = os.open(temporary / "triton-ensembles-running", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    environment = os.environ | {"TMPDIR": os.fspath(temporary)}
    code = "import sys, triton_ensembles.commands.cli as cli; cli._NEW_SECONDS = float(sys.argv.pop(1)); cli.main()"
    for seconds, left in (("3600", ["killed", "new", "running"]), ("0", ["running"])):
        words = [sys.executable, "-c", code, seconds, "--project", os.fspath(tmp_path), "list"]
        subprocess.run(words, env=environment, check=True, cwd=ROOT, capture_output=True)
        assert sorted(path.name for path in temporary.iterdir()) == ["other", *(f"triton-ensembles-{e}" for e in left)]
    os.close(handle)
