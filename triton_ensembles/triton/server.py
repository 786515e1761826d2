"""One tritonserver process: started, waited for, stopped, and never left behind.

with TritonServer([Path("build/cpu/bert_trt")], log=Path("build/serve.log")) as server:
    print(server.http_url)
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import TracebackType

from triton_ensembles.errors import EnsembleError
from triton_ensembles.processes import descendants, die_with_parent
from triton_ensembles.triton.home import TritonHome, find_home, link_backends, server_environment
from triton_ensembles.triton.log import began_to_load, failure_reasons, read_failure, read_records
from triton_ensembles.triton.sagemaker_serve import MULTI_MODEL, Serve, serve

LOOPBACK = "127.0.0.1"
# So long tritonserver waits for open connections to end, idle ones of keep-alive clients too; then it leaves at once.
EXIT_SECONDS = 10
_OURS = frozenset({"PATH", "LD_LIBRARY_PATH"})  # of the container's variables, those that would break the local server
_METRICS_ON = ("--allow-metrics=true", "--allow-metrics=True", "--allow-metrics=1")
PORT_VARIABLES = {"metrics": "SAGEMAKER_TRITON_METRICS_PORT", "grpc": "SAGEMAKER_TRITON_GRPC_PORT"}


@dataclass(frozen=True)
class Ports:
    """TCP ports on the loopback interface; the defaults are Triton's own."""

    http: int = 8000
    grpc: int = 8001
    metrics: int = 8002
    sagemaker: int = 8080

    @classmethod
    @contextlib.contextmanager
    def reserved(cls) -> Iterator[Ports]:
        """Four free ports that no other process is given before the ``with`` block ends; tritonserver may use them.

        Bound sockets that do not listen hold them. The kernel gives a held port to nobody who asks for any port, and
        lets a server have it that asks for this one with SO_REUSEADDR, as all of tritonserver's do.
        """
        with contextlib.ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in fields(cls)]
            for each in sockets:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                each.bind((LOOPBACK, 0))
            yield cls(*(each.getsockname()[1] for each in sockets))


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


def sagemaker_ports(free: Ports, environment: Mapping[str, str]) -> Ports:
    """The free ports, except those for metrics and gRPC that the container's environment names."""
    ports = free
    for name, variable in PORT_VARIABLES.items():
        if value := environment.get(variable):
            if not value.isdecimal():
                raise EnsembleError(f"{variable} is '{value}'", cure="give the number of a port")
            ports = replace(ports, **{name: int(value)})
    return ports


def sagemaker_serve(ports: Ports, repository: Path, environment: Mapping[str, str]) -> Serve:
    """What docker/sagemaker/serve makes of a container's environment, on our ports and on the loopback interface.

    Metrics are on unless the environment says otherwise (the script's default is off): the local platform reads them.
    """
    theirs = {name: value for name, value in environment.items() if name != "SAGEMAKER_SAFE_PORT_RANGE"}
    platform = {"SAGEMAKER_BIND_TO_PORT": str(ports.sagemaker)}
    platform |= {variable: str(getattr(ports, name)) for name, variable in PORT_VARIABLES.items()}
    made = serve({"SAGEMAKER_TRITON_ALLOW_METRICS": "true"} | theirs | platform, repository)
    # The summaries are what the status page shows of each step: p50, p90, p99.
    ours = (f"--metrics-address={LOOPBACK}", f"--grpc-address={LOOPBACK}", "--metrics-config=summary_latencies=true")
    return replace(made, arguments=made.arguments + ours)


class TritonServer:
    """A tritonserver over the given model repositories, as a context manager.

    Args:
        repositories: model repositories to serve (with ``sagemaker`` the one folder that its container would see).
        ports: where to listen; free ones, reserved until ``stop``, when not given.
        log: file for the server's log; a temporary one, removed at the end, when not given.
        append_log: go on in a log that is there already, instead of beginning it anew.
        sagemaker: serve SageMaker's routes instead of KServe v2: True for an ordinary multi-model container, or the
            container's environment variables (see :mod:`triton_ensembles.triton.sagemaker_serve`).
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
        append_log: bool = False,
        sagemaker: bool | Mapping[str, str] = False,
        arguments: Sequence[str] = (),
        ready_seconds: float = 300,
        progress: Callable[[float], None] | None = None,
        home: TritonHome | None = None,
    ) -> None:
        variables = {MULTI_MODEL: "true"} if sagemaker is True else sagemaker
        self._reservation = contextlib.ExitStack()
        self.ports = ports or self._reservation.enter_context(Ports.reserved())
        if ports is None and isinstance(variables, Mapping):
            self.ports = sagemaker_ports(self.ports, variables)
        self._scratch = tempfile.TemporaryDirectory(prefix="triton-") if log is None else None
        self.log = log or Path(self._scratch.name if self._scratch else "") / "triton.log"
        self._log_start = 0
        self._append_log = append_log
        self._serve = None
        if isinstance(variables, Mapping):
            self._serve = sagemaker_serve(self.ports, repositories[0].resolve(), variables)
        made = self._serve.arguments if self._serve else kserve_arguments(self.ports, repositories)
        self._arguments = [*made, *arguments]
        self._ready_seconds = ready_seconds
        self._progress = progress
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Lock()
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

    @property
    def metrics_on(self) -> bool:
        """Whether a container of SageMaker's serves metrics."""
        return self._serve is not None and any(flag in self._serve.arguments for flag in _METRICS_ON)

    @property
    def messages(self) -> tuple[str, ...]:
        """What the container's entry point prints before the server starts, warnings among it."""
        return self._serve.messages if self._serve else ()

    def start(self) -> TritonServer:
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        """Start the process, from a thread that lasts as long as it should: the kernel ends it with that thread."""
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
        ours = server_environment(home)
        theirs = {} if self._serve is None else {k: v for k, v in self._serve.environment.items() if k not in _OURS}
        with self.log.open("ab" if self._append_log else "wb") as output:
            self._log_start = output.tell()
            output.writelines(f"{message}\n".encode() for message in self.messages)
            output.flush()
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=ours | theirs,
                cwd=home.folder,  # the stub's sys.path begins with '', which must not be the user's folder
                start_new_session=True,  # Ctrl-C is for us: we stop the server in order
                preexec_fn=die_with_parent(),
            )

    def wait_until_ready(self) -> None:
        """Wait until the launched server answers; from any thread. A server that does not get there is stopped."""
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def alive(self) -> bool:
        return self._process is not None and not _has_ended(self._process)

    def stop(self, at_once: bool = False) -> None:
        """SIGTERM, and SIGKILL when that takes too long; then remove what Triton itself left behind.

        Also for a server that has ended by itself: its Python stubs outlive a kill -9. It may be called by several
        threads at once: one of them stops the server, and the others wait for that.

        Args:
            at_once: SIGKILL without further ado, for a server that is known not to listen.
        """
        with self._stopping:
            self._stop(at_once)

    def _stop(self, at_once: bool) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            self.note_environments()
            with contextlib.suppress(ProcessLookupError):  # where SIGCHLD is ignored, the kernel itself reaps
                os.kill(process.pid, signal.SIGTERM)  # not process.terminate(), which may reap it
                _wait_for_end(process.pid, 0 if at_once else EXIT_SECONDS + 10)
            # As long as it is not reaped, its id names its session and nobody else's; the Python stubs are in it too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()  # the only place that reaps it
        self._reservation.close()
        for folder in self._extracted:
            shutil.rmtree(folder, ignore_errors=True)
        for region in Path("/dev/shm").glob(f"{self._shared_memory}*"):
            region.unlink(missing_ok=True)
        if self._scratch is not None:
            self._scratch.cleanup()

    def note_environments(self) -> None:
        """Remember where the Python steps that run now have their packed environments, to remove them at the end.

        A server that is killed cannot be asked any more, nor can one whose steps have been unloaded.
        """
        self._extracted |= _extracted_environments(self.pid)

    def reasons(self, start: int = 0) -> list[str]:
        """Why models failed to load, in Triton's words, out of what it has logged from byte ``start`` on."""
        return failure_reasons(self._records(start))

    def began_to_load(self, start: int) -> bool:
        """Whether it has logged from byte ``start`` on that it loads a model."""
        return began_to_load(self._records(start))

    def _records(self, start: int = 0) -> str:
        return read_records(self.log, max(start, self._log_start), self.pid)

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
        used = ("sagemaker", "metrics") if self._serve else ("http", "grpc", "metrics")
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
        url = f"http://{self.sagemaker_url}/ping" if self._serve else f"http://{self.http_url}/v2/health/ready"
        started = reported = time.monotonic()
        while True:
            if _has_ended(process):
                reason = read_failure(self._records())
                raise EnsembleError(f"tritonserver stopped while it loaded: {reason}", path=self.log)
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


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without reaping it: its id could name another process by the time ``stop`` uses it."""
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # ``stop`` has reaped it
        return True
    return found is not None


def _wait_for_end(pid: int, seconds: float) -> None:
    """Until the process has ended (it stays a zombie), or the time is over."""
    handle = os.pidfd_open(pid)
    try:
        waiter = select.poll()  # not select(): a busy process has more than 1024 files open
        waiter.register(handle, select.POLLIN)
        waiter.poll(seconds * 1000)
    finally:
        os.close(handle)


def _extracted_environments(pid: int) -> set[Path]:
    """The folders /tmp/python_env_XXXXXX into which this server has extracted packed environments (pb_env.cc).

    A server that ends in order removes them itself; one that had to leave does not. Each Python step has the bin folder
    of its environment on PATH.
    """
    found = set()
    with contextlib.suppress(OSError):
        working = Path(f"/proc/{pid}/cwd").readlink()  # where it is while it extracts one
        if working.is_relative_to("/tmp") and working.parts[2].startswith("python_env_"):
            found.add(Path(*working.parts[:3]))
    for child in descendants(pid):
        try:
            variables = Path(f"/proc/{child}/environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        path = next((value.removeprefix("PATH=") for value in variables if value.startswith("PATH=")), "")
        found |= {Path(*Path(entry).parts[:3]) for entry in path.split(":") if entry.startswith("/tmp/python_env_")}
    return found
