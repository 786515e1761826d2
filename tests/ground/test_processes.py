"""Signals that stop a command."""

import signal
import subprocess
import sys

import pytest

from tests.running import running
from triton_ensembles.ground.processes import StopSignals

HOLDING = """
import sys, time
from triton_ensembles.ground.processes import StopSignals
try:
    with StopSignals() as signals:
        try:
            print("working", flush=True)
            time.sleep(600)
        finally:
            print("cleaning up", flush=True)
            sys.stdin.readline()
            print("clean", flush=True)
except KeyboardInterrupt:
    print("interrupted")
"""
STARTING = """
import os, signal, subprocess, time
from triton_ensembles.ground.processes import StopSignals, uninterrupted
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    with StopSignals():
        with uninterrupted():
            subprocess.run(["echo", "started"], preexec_fn=lambda: None)
        time.sleep(600)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_only_the_first_signal_interrupts(number: int) -> None:
    """Otherwise Ctrl-C is lost in a background job, or a second one leaves servers behind."""
    with running(sys.executable, "-c", HOLDING, ignoring=signal.SIGINT, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(number)
        assert process.stdout.readline() == "cleaning up\n"
        for again in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(again)
        assert process.communicate("go on\n")[0] == "clean\ninterrupted\n"
        assert process.returncode == 0


def test_a_signal_while_a_process_is_started_is_not_lost() -> None:
    """Otherwise Ctrl-C during a fork is swallowed, which happened in one of forty starts of a server."""
    with running(sys.executable, "-c", STARTING, ignoring=signal.SIGINT) as process:
        assert process.communicate()[0] == "started\ninterrupted\n"


def test_the_previous_handlers_are_restored() -> None:
    """Otherwise a command that a program calls changes what Ctrl-C does in that program."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    with StopSignals():
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before


HIDING = """
import os, subprocess, sys
from triton_ensembles.ground.processes import hide_environment
shown = f"tr '\\\\0' '\\\\n' < /proc/{os.getpid()}/environ | grep -c TOKEN"
before = subprocess.run(shown, shell=True, capture_output=True, text=True).stdout.strip()
hide_environment()
after = subprocess.run(shown, shell=True, capture_output=True, text=True).stdout.strip()
print(before, after, os.environ["TOKEN"], subprocess.run("echo $TOKEN", shell=True, capture_output=True).stdout)
"""


def test_processes_that_are_started_do_not_find_the_environment_of_the_one_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has credentials of the developer, which this process itself goes on to use."""
    monkeypatch.setenv("TOKEN", "secret")
    with running(sys.executable, "-c", HIDING) as process:
        assert process.communicate()[0] == "1 0 secret b'secret\\n'\n"
