"""Limits for what would end or stop the tests: a step that ends its process, or that never returns."""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from triton_ensembles.ground.errors import EnsembleError

# One that pytest-timeout and others do not use.
_SIGNAL = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else signal.SIGUSR2
_DEBUGGERS = ("/bdb.py", "/pdb.py", "/pydevd", "/debugpy/")


class Stopped(BaseException):
    """Passes through a step, whose ``except Exception`` would not let another error pass."""

    def __init__(self, error: EnsembleError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def guarded(folder: Path, method: str, seconds: float) -> Iterator[None]:
    """Raise EnsembleError with the line of the model in ``folder`` that ends the process, or that runs after
    ``seconds``: only in the main thread, and not while a debugger waits."""
    try:
        with _kept_alive(folder), _ended_after(seconds, folder, method):
            yield
    except Stopped as stopped:
        raise stopped.error from None


def innermost(folder: Path, frames: Iterable[tuple[FrameType, int]]) -> tuple[Path, int | None]:
    """Return the file and the line of the first of ``frames`` that is in the model in ``folder``; else the folder."""
    files = ((frame.f_code.co_filename, line) for frame, line in frames)
    return next(((Path(file), line) for file, line in files if file.startswith(f"{folder}/")), (folder, None))


def stopped(message: str, folder: Path, frame: FrameType | None, cure: str) -> Stopped:
    """The error at the innermost line of the model in which the frame, or any thread, is."""
    threads = (frame, *sys._current_frames().values())
    path, line = innermost(folder, chain.from_iterable(map(traceback.walk_stack, threads)))
    return Stopped(EnsembleError(message, path=path, line=line, cure=cure))


@contextmanager
def _kept_alive(folder: Path) -> Iterator[None]:
    process = os.getpid()

    def kept(name: str, end: Any) -> Any:
        def refuse(*arguments: Any) -> Any:
            is_other = name == "kill" and (arguments[0] != process or not arguments[1])
            if os.getpid() != process or is_other:  # in a process that the step has forked, or of one
                return end(*arguments)
            message = f"os.{name} ends the process: Triton's stub would be gone, and the request fail"
            raise stopped(message, folder, sys._getframe(1), "raise an exception, or return an error")

        return refuse

    with contextlib.ExitStack() as stack:
        for name in ("_exit", "abort", "kill"):
            stack.enter_context(patch.object(os, name, kept(name, getattr(os, name))))
        yield


@contextmanager
def _ended_after(seconds: float, folder: Path, method: str) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    done, main = threading.Event(), threading.get_ident()

    def expire(_: int, frame: FrameType | None) -> None:
        files = [outer.f_code.co_filename for outer, _ in traceback.walk_stack(frame)]
        if not done.is_set() and not any(debugger in file for debugger in _DEBUGGERS for file in files):
            message = f"{method} has not returned after {seconds:g} s"
            raise stopped(message, folder, frame, "load_step takes other seconds")

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):  # a bare except may have caught the first
            signal.pthread_kill(main, _SIGNAL)
            wait = 1.0

    before = signal.signal(_SIGNAL, expire)
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        signal.signal(_SIGNAL, before)
