"""One tritonserver process: started, waited for, stopped, and never left behind.

with TritonServer([Path("build/cpu/bert_trt")], log=Path("build/serve.log")) as server:
    print(server.http_url)
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType

from triton_ensembles.errors import EnsembleError
from triton_ensembles.home import TritonHome, find_home, link_backends, server_environment
from triton_ensembles.processes import descendants, die_with
from triton_ensembles.triton_log import read_failure

LOOPBACK = "127.0.0.1"
# So long tritonserver waits for open connections to end, idle ones of keep-alive clients too; then it leaves at once.
EXIT_SECONDS = 10


@dataclass(frozen=True)
class Ports:
    """TCP ports on the loopback interface; the defaults are Triton's own."""

    http: int = 8000
    grpc: int = 8001
    metrics: int = 8002
    sagemaker: int = 8080

    @classmethod
    def free(cls) -> Ports:
        """Four ports that nobody listens on at this moment."""
        sockets = [socket.create_server((LOOPBACK, 0)) for _ in fields(cls)]
        try:
            return cls(*(each.getsockname()[1] for each in sockets))
        finally:
            for each in sockets:
                each.close()


def kserve_arguments(ports: Ports, repositories: Sequence[Path]) -> list[str]:
    """Flags for KServe v2 over HTTP and gRPC with every model of the repositories loaded."""
    return [
        *(f"--model-repository={path.resolve()}" for path in repositories),
        f"--http-address={LOOPBACK}",
        f"--http-port={ports.http}",
        f"--grpc-address={LOOPBACK}",
        f"--grpc-port={ports.grpc}",
        f"--metrics-address={LOOPBACK}",
        f"--metrics-port={ports.metrics}",
        # Auto-completion starts every Python stub once more only to ask it for a config that is already complete.
        "--disable-auto-complete-config",
    ]


def sagemaker_arguments(ports: Ports, repository: Path) -> list[str]:
    """Flags of docker/sagemaker/serve (r24.10) for a multi-model endpoint; ``repository`` is its empty dummy folder."""
    return [
        f"--model-repository={repository.resolve()}",
        "--allow-sagemaker=true",
        f"--sagemaker-port={ports.sagemaker}",
        "--allow-http=false",
        "--allow-grpc=false",
        f"--metrics-address={LOOPBACK}",
        f"--metrics-port={ports.metrics}",
        "--model-control-mode=explicit",
        "--model-namespacing=true",
        "--backend-config=python,shm-default-byte-size=16777216",
        "--backend-config=python,shm-growth-byte-size=1048576",
    ]


class TritonServer:
    """A tritonserver over the given model repositories, as a context manager.

    Args:
        repositories: model repositories to serve (with ``sagemaker=True`` the one empty folder that MME mode wants).
        ports: where to listen; free ones when not given.
        log: file for the server's log; a temporary one, removed at the end, when not given.
        sagemaker: serve SageMaker's multi-model routes instead of KServe v2.
        arguments: further flags of tritonserver.
        ready_seconds: how long loading may take before it counts as failed.
        progress: called now and then while it loads, with the seconds so far.

    Raises:
        EnsembleError: a busy port, a missing binary, a model that fails to load (with Triton's reason).
    """

    def __init__(
        self,
        repositories: Sequence[Path],
        *,
        ports: Ports | None = None,
        log: Path | None = None,
        sagemaker: bool = False,
        arguments: Sequence[str] = (),
        ready_seconds: float = 300,
        progress: Callable[[float], None] | None = None,
        home: TritonHome | None = None,
    ) -> None:
        self.ports = ports or Ports.free()
        self._scratch = tempfile.TemporaryDirectory(prefix="triton-") if log is None else None
        self.log = log or Path(self._scratch.name if self._scratch else "") / "triton.log"
        self._sagemaker = sagemaker
        make = sagemaker_arguments(self.ports, repositories[0]) if sagemaker else None
        self._arguments = [*(make or kserve_arguments(self.ports, repositories)), *arguments]
        self._ready_seconds = ready_seconds
        self._progress = progress
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._extracted: set[Path] = set()
        self._shared_memory = f"triton_ensembles_{os.getpid()}_{self.ports.metrics}"

    @property
    def http_url(self) -> str:
        """``127.0.0.1:8000``, as tritonclient wants it."""
        return f"{LOOPBACK}:{self.ports.http}"

    @property
    def grpc_url(self) -> str:
        return f"{LOOPBACK}:{self.ports.grpc}"

    @property
    def metrics_url(self) -> str:
        return f"{LOOPBACK}:{self.ports.metrics}"

    @property
    def sagemaker_url(self) -> str:
        return f"{LOOPBACK}:{self.ports.sagemaker}"

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> TritonServer:
        home = self._home or find_home()
        link_backends(home)
        self._refuse_busy_ports()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        command = [
            os.fspath(home.tritonserver),
            f"--backend-directory={home.backend_directory}",
            f"--backend-config=python,shm-region-prefix-name={self._shared_memory}",
            f"--exit-timeout-secs={EXIT_SECONDS}",
            *self._arguments,
        ]
        parent = os.getpid()
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=server_environment(home),
                cwd=home.folder,  # the stub's sys.path begins with '', which must not be the user's folder
                start_new_session=True,  # Ctrl-C is for us: we stop the server in order
                preexec_fn=lambda: die_with(parent),
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """SIGTERM, and SIGKILL when that takes too long; then remove what Triton itself left behind."""
        process = self._process
        if process is not None and process.poll() is None:
            self._extracted = _extracted_environments(process.pid)
            process.terminate()
            try:
                process.wait(EXIT_SECONDS + 10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # its session holds the Python stubs too
                process.wait()
        for folder in self._extracted:
            shutil.rmtree(folder, ignore_errors=True)
        for region in Path("/dev/shm").glob(f"{self._shared_memory}*"):
            region.unlink(missing_ok=True)
        if self._scratch is not None:
            self._scratch.cleanup()

    def __enter__(self) -> TritonServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the server has not been started")
        return self._process

    def _refuse_busy_ports(self) -> None:
        used = ("sagemaker", "metrics") if self._sagemaker else ("http", "grpc", "metrics")
        for name in used:
            port = getattr(self.ports, name)
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((LOOPBACK, port))
                except OSError as error:
                    raise EnsembleError(
                        f"port {port} ({name}) of {LOOPBACK} cannot be used: {error.strerror}",
                        cure=f"stop what listens there, or name another port: --{name}-port",
                    ) from error

    def _wait_until_ready(self) -> None:
        process = self._running()
        path = "ping" if self._sagemaker else "v2/health/ready"
        url = f"http://{self.sagemaker_url if self._sagemaker else self.http_url}/{path}"
        started = reported = time.monotonic()
        while True:
            if process.poll() is not None:
                raise EnsembleError(f"tritonserver stopped while it loaded: {read_failure(self.log)}", path=self.log)
            if _answers(url):
                return
            now = time.monotonic()
            if now - started > self._ready_seconds:
                raise EnsembleError(f"tritonserver was not ready after {self._ready_seconds:.0f} s", path=self.log)
            if self._progress and now - reported >= 5:
                self._progress(now - started)
                reported = now
            time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _extracted_environments(pid: int) -> set[Path]:
    """The folders /tmp/python_env_XXXXXX into which this server has extracted packed environments (pb_env.cc).

    A server that ends in order removes them itself; one that had to leave does not. Each Python step has the bin folder
    of its environment on PATH.
    """
    found = set()
    for child in descendants(pid):
        try:
            variables = Path(f"/proc/{child}/environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        path = next((value.removeprefix("PATH=") for value in variables if value.startswith("PATH=")), "")
        found |= {Path(*Path(entry).parts[:3]) for entry in path.split(":") if entry.startswith("/tmp/python_env_")}
    return found
