"""A local endpoint server as a context manager, for tests, examples and benchmarks::

with LocalEndpoint(root) as local:
    sagemaker = local.client("sagemaker")
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from triton_ensembles.endpoint.announcement import LAST_LINE
from triton_ensembles.endpoint.running import RunningEndpoint, without_aws
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import IMPORTED_FROM
from triton_ensembles.ground.processes import die_with_parent, hide_environment

PRINTED_URL = re.compile(r"^export AWS_ENDPOINT_URL=(?P<url>\S+)")
_STOP_SECONDS = 120


class LocalEndpoint(RunningEndpoint):
    """The command ``endpoint`` in a separate process, on a free port. Raises EnsembleError when it does not start.

    Args:
        root: its working folder.
        arguments: further options, such as ``("--memory-budget", "500M")``. Only with ``--s3-url`` does the process
            have the user's settings of AWS.
    """

    def __init__(self, root: str | os.PathLike[str], *arguments: str, region: str = "us-east-1") -> None:
        folder = os.fspath(Path(root).absolute())
        self._arguments = (*("--root", folder), *("--port", "0"), *("--region", region), *arguments)
        super().__init__("", region)
        self._has_own_s3 = any(argument.startswith("--s3-url") for argument in arguments)
        self._process: subprocess.Popen[str] | None = None
        self.root = Path(root)
        self.lines: list[str] = []  # what it has printed so far

    @property
    def pid(self) -> int:
        return self._running().pid

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> LocalEndpoint:
        hide_environment()  # this process is above its models too
        self._process = subprocess.Popen(
            [sys.executable, "-m", "triton_ensembles", "endpoint", *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=IMPORTED_FROM,
            env=None if self._has_own_s3 else without_aws(os.environ),
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        assert self._process.stdout is not None
        try:
            if self._ready(self._process.stdout):
                threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
                return self
        except BaseException:  # Ctrl-C, or the time limit of a test
            self.stop()
            raise
        self._process.wait()
        raise EnsembleError("the endpoint server did not start: " + " / ".join(self.lines))

    def stop(self) -> int:
        """Send SIGTERM and return the exit status. After two minutes, send SIGKILL and raise TimeoutExpired."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def __enter__(self) -> LocalEndpoint:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.alive():
            self.stop()

    def _ready(self, stream: IO[str]) -> bool:
        """Return whether the process says that it is ready before it ends."""
        for line in stream:
            self.lines.append(line.rstrip())
            if match := PRINTED_URL.match(line):
                self.url = match["url"]
            if line.rstrip().endswith(LAST_LINE):
                return True
        return False

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self.lines.append(line.rstrip())

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            raise RuntimeError("the endpoint has not been started")
        return self._process
