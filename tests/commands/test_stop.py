"""SIGTERM and Ctrl-C end every command in the same way: with its children, and with nothing left in /tmp."""

import fcntl
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT
from tests.commands.projects import command, write_ensemble
from tests.files import edit, write_files
from tests.running import port_options, running
from triton_ensembles.ground.processes import end
from triton_ensembles.server.ports import Ports

# It says that it works, and never ends. It holds the pipe as long as it lives, so that its end is that of the pipe.
SLEEPER = """#!{python}
import os, sys, tempfile, time
open(os.path.join(tempfile.gettempdir(), f"left-{{os.getpid()}}"), "w").close()
pipe = os.open({pipe!r}, os.O_WRONLY)
os.write(pipe, b"working\\n")
time.sleep(3600)
"""


def sleeper(file: Path, pipe: Path) -> Path:
    """A program that writes a temporary file, writes a line into ``pipe`` and sleeps."""
    file.write_text(SLEEPER.format(python=sys.executable, pipe=os.fspath(pipe)))
    file.chmod(0o755)
    return file


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose build never ends: the environment of its step is made with an ldd that waits for ever."""
    write_ensemble(tmp_path, "doubler")
    recipe = 'description = "one"\n[environments.own]\nfile = "own.yml"\nsteps = ["double"]\n'
    packages = f"channels: ['file://{tmp_path}/none']\ndependencies: [python=3.11, numpy=1.26.4]\n"
    # A program whose own child does the work, as pip has.
    ldd = f"#!/bin/sh\n{shlex.quote(str(tmp_path / 'bin' / 'ldd-child'))}\nexit 1\n"
    write_files(tmp_path, {"ensembles/doubler/ensemble.toml": recipe, "own.yml": packages, "bin/ldd": ldd})
    (tmp_path / "bin" / "ldd").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    os.mkfifo(tmp_path / "pipe")
    sleeper(tmp_path / "bin" / "ldd-child", tmp_path / "pipe")
    monkeypatch.setenv("PATH", os.pathsep.join((os.fspath(tmp_path / "bin"), os.environ["PATH"])))
    monkeypatch.setenv("TMPDIR", os.fspath(tmp_path / "tmp"))
    return tmp_path


@pytest.mark.parametrize(("word", "number"), [("build", signal.SIGTERM), ("serve", signal.SIGINT)])
def test_a_signal_ends_a_build_and_all_that_it_has_started(stuck: Path, word: str, number: int) -> None:
    with Ports.reserved() as ports:
        words = [word, *(port_options(ports) if word == "serve" else ())]
        with (
            running(*command(stuck, *words), ignoring=signal.SIGINT, stderr=subprocess.PIPE) as process,
            (stuck / "pipe").open() as pipe,
        ):
            assert pipe.readline() == "working\n"
            assert list((stuck / "tmp").rglob("left-*"))
            process.send_signal(number)
            assert pipe.read() == ""  # the end of the last program that holds it
            _, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    assert errors.splitlines()[-1] == f"stopped by {'Ctrl-C' if number == signal.SIGINT else 'SIGTERM'}"
    assert list((stuck / "tmp").iterdir()) == []
    assert not (stuck / "dist").exists()


def test_what_a_program_started_in_a_session_of_its_own_ends_with_it(tmp_path: Path) -> None:
    """As a maker runs pip. What ignores SIGTERM is killed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    inner = sleeper(tmp_path / "sleeper", pipe)
    edit(inner, "import os,", "import signal, os,")
    edit(inner, "pipe = ", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\npipe = ")
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
    code = "import sys, triton_ensembles.commands.cli as cli; cli.NEW_SECONDS = float(sys.argv.pop(1)); cli.main()"
    for seconds, left in (("3600", ["killed", "new", "running"]), ("0", ["running"])):
        words = [sys.executable, "-c", code, seconds, "--project", os.fspath(tmp_path), "list"]
        subprocess.run(words, env=environment, check=True, cwd=ROOT, capture_output=True)
        assert sorted(path.name for path in temporary.iterdir()) == ["other", *(f"triton-ensembles-{e}" for e in left)]
    os.close(handle)
