"""Signals that stop a command."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.running import running
from triton_ensembles.processes import StopSignals

HOLDING = """
import sys, time
from triton_ensembles.processes import StopSignals
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
SERVING = """
import time
from triton_ensembles.processes import StopSignals
with StopSignals() as signals:
    signals.defer()
    print("serving", flush=True)
    while not signals.received:
        time.sleep(0.01)
    print("stopping")
"""

STARTING = """
import os, signal, subprocess, time
from triton_ensembles.processes import StopSignals, uninterrupted
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
def test_the_first_signal_interrupts_and_no_other_interrupts_the_clean_up(number: int) -> None:
    """If this fails, Ctrl-C is lost in a background job, or a second one leaves servers behind."""
    with running(sys.executable, "-c", HOLDING, ignoring=signal.SIGINT, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(number)
        assert process.stdout.readline() == "cleaning up\n"
        for again in (signal.SIGINT, signal.SIGTERM):
            process.send_signal(again)
        assert process.communicate("go on\n")[0] == "clean\ninterrupted\n"
        assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_deferred_signal_is_noted(number: int) -> None:
    """If this fails, `serve` ends in the middle of a sentence."""
    with running(sys.executable, "-c", SERVING, ignoring=signal.SIGINT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "serving\n"
        process.send_signal(number)
        assert process.communicate()[0] == "stopping\n"
        assert process.returncode == 0


def test_a_signal_while_a_process_is_started_is_not_lost() -> None:
    """If this fails, Ctrl-C at the moment of a fork is swallowed: one in forty at the start of a server."""
    with running(sys.executable, "-c", STARTING, ignoring=signal.SIGINT) as process:
        assert process.communicate()[0] == "started\ninterrupted\n"


def test_the_handlers_of_before_are_back() -> None:
    """If this fails, a command that is called from a program changes what Ctrl-C does in it."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    with StopSignals():
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before
