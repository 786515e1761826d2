"""The reference as it runs in its container: nginx, gunicorn with a worker for each core, and tritonserver."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.aws_gateway.nginx import write_config
from triton_ensembles.processes import die_with_parent
from triton_ensembles.triton.ports import LOOPBACK, Ports
from triton_ensembles.triton.server import TritonServer

PROGRAM = Path(__file__).with_name("program")
_END_SECONDS = 10.0


@dataclass(frozen=True)
class Place:
    """What it is started from.

    Args:
        folder: with models/ and files/, from :func:`benchmarks.aws_gateway.models.write_models`.
        venv: of the workers.
        nginx: the program, or None.
        workers: of gunicorn; in the example as many as there are cores.
    """

    folder: Path
    venv: Path
    nginx: Path | None
    workers: int = len(os.sched_getaffinity(0))


class AwsGateway:
    """A running reference, as a context manager: it listens on ``port`` of the loopback interface.

    As in the example, nothing waits for Triton but the first request that is answered.
    """

    def __init__(self, place: Place) -> None:
        self._place, self._stack = place, ExitStack()
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._stop)
            ports = stack.enter_context(Ports.reserved())
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            self._log = stack.enter_context((scratch / "log").open("wb"))
            self._triton = TritonServer([self._place.folder / "models"], ports=ports, log=scratch / "tritonserver.log")
            stack.callback(self._triton.stop)
            self.port = ports.sagemaker
            self._start_front(scratch)
            self._triton.launch()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def pids(self) -> list[int]:
        """Of its processes, without their children."""
        return [self._triton.pid, *(each.pid for each in self._processes)]

    def _start_front(self, scratch: Path) -> None:
        socket = scratch / "gunicorn.sock"
        nginx = self._place.nginx
        bind = f"unix:{socket}" if nginx else f"{LOOPBACK}:{self.port}"
        gunicorn = [
            os.fspath(self._place.venv / "bin" / "gunicorn"),
            "--chdir",
            os.fspath(PROGRAM),
            "--no-control-socket",
        ]
        workers = ["-k", "gevent", "-w", str(self._place.workers), "--timeout", "60", "-b", bind, "wsgi:app"]
        triton = {"TRITON_GRPC": self._triton.grpc_url, "TRITON_HTTP": self._triton.http_url}
        files = {"FILES": os.fspath(self._place.folder / "files"), "TRANSFORMERS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
        self._start([*gunicorn, *workers], triton | files)
        if nginx:
            write_config(scratch / "nginx.conf", socket, self.port, getpass.getuser())
            self._start([os.fspath(nginx), "-p", os.fspath(scratch), "-c", "nginx.conf", "-e", "stderr"], {})

    def _start(self, command: list[str], variables: dict[str, str]) -> None:
        self._processes.append(
            subprocess.Popen(
                command,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent(),
            )
        )

    def _stop(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
