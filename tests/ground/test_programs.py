"""Programs that are run to their end, whatever ends the wait for them, and pip beside other work."""

import signal
import subprocess
import sys

import pytest

from triton_ensembles.ground import programs


def test_ctrl_c_while_a_program_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it goes on writing into a folder that is being removed, and nobody waits for its end."""
    begun: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen[str]):
        def __init__(self, *arguments: object, **settings: object) -> None:
            super().__init__(*arguments, **settings)  # type: ignore[call-overload]
            begun.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may have inherited it as ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            programs.output_of(["sleep", "60"])
    finally:
        signal.signal(signal.SIGINT, before)
    (process,) = begun
    assert process.returncode == -signal.SIGTERM


def test_who_ran_pip_can_still_import_setuptools() -> None:
    """Otherwise a notebook that has built an ensemble could not compile with torch any more: torch needs setuptools."""
    code = "from triton_ensembles.ground.pip import run_pip; run_pip('--version'); import setuptools"
    subprocess.run([sys.executable, "-c", code], check=True)
