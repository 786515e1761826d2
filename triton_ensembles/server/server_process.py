"""A tritonserver process: started, waited for, stopped, and never left behind."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
import weakref
from pathlib import Path
from typing import ClassVar, Self, Unpack

from triton_ensembles.ground import processes
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.runtime.backends import PACKAGES
from triton_ensembles.server.ended_stubs import EndedStubs
from triton_ensembles.server.home import find_home
from triton_ensembles.server.leftovers import MARK, Leftovers, end_marked
from triton_ensembles.server.ports import LOOPBACK, Ports
from triton_ensembles.server.sagemaker_socket import NAME as SAGEMAKER_SOCKET
from triton_ensembles.server.secret import Secret
from triton_ensembles.server.server_command import Reach, ServerCommand, ServerOptions
from triton_ensembles.server.sockets import UNIX, answers, socket_folder
from triton_ensembles.server.stubs import prepare_stubs
from triton_ensembles.triton import log as server_log
from triton_ensembles.triton.pip_server import VERSION, server_python

# How long tritonserver waits for open connections (also idle keep-alive connections) before it exits.
EXIT_SECONDS = 10
BUSY_ABORT = "boost::interprocess::lock_exception"
# Variables that every container has. PATH is that of the stubs.
_OF_A_CONTAINER = frozenset({"HOME", "HOSTNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "USER"})
_LOOK_SECONDS = 1.0  # between looks at the log for a model that will never be loaded


class BusyAbortError(EnsembleError):
    """The server aborted while it started its stubs, as 2.51.0 does on a busy machine; it may be launched again."""


class ServerProcess:
    """Base class of servers, which set their ``command``; a context manager.

    A busy port, a missing binary or Python, or a server that does not start (with its reason) raises EnsembleError.
    """

    port_names: tuple[str, ...]
    """The TCP ports of :class:`Ports` that this server needs."""
    sockets: frozenset[str] = frozenset()
    """Those that are Unix sockets instead, which only its user can open."""
    ready_route: ClassVar[tuple[str, str]]
    """A name of all these, and the path that answers there with status 200 once the server is ready."""
    command: ServerCommand
    metrics_on = True
    """True if the server publishes metrics."""

    def __init__(self, **options: Unpack[ServerOptions]) -> None:
        self._home = options.get("home")
        self._resources = contextlib.ExitStack()
        self.ports = options.get("ports") or self._resources.enter_context(Ports.reserved())
        self._leftovers = Leftovers(os.getpid(), self.ports.metrics)
        # Of a server in a container on this machine: whoever ends the container finds all of its processes by one mark.
        self._mark = os.environ.get(MARK, self._leftovers.shared_memory)
        self.secret = Secret()  # of those APIs over TCP that demand one
        # Of its sockets, and where it runs: the stub's sys.path begins with '', which must not be the user's folder.
        self._folder = socket_folder(self._leftovers.folders)
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.log = options.get("log") or self._folder / "log"
        self.written_log = self.log  # as it is read, also when its path has been removed; see launch()
        self._append_log = options.get("append_log", False)
        self.python = options.get("python") or (self._home.python if self._home else server_python())
        self._log_start = 0
        self._launches = 0
        self._ready_seconds = options.get("ready_seconds", 300.0)
        self._progress = options.get("progress")
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Lock()
        self.known_as: dict[str, str] = {}  # folders in its words, by the names that people know them by

    @property
    def http_url(self) -> str:
        """``127.0.0.1:8000``, of KServe v2: the form that tritonclient takes. ``unix:PATH`` if it is a socket."""
        return self._url("http")

    @property
    def grpc_url(self) -> str:
        """``127.0.0.1:8001``, as ``http_url``."""
        return self._url("grpc")

    @property
    def metrics_url(self) -> str:
        """``127.0.0.1:8002``, as ``http_url``."""
        return self._url("metrics")

    @property
    def sagemaker_url(self) -> str:
        """``127.0.0.1:8080``, the port of a SageMaker container, as ``http_url``."""
        return self._url("sagemaker")

    @property
    def version(self) -> str:
        """The version of the tritonserver that it starts, such as "2.51.0"."""
        return self._home.version if self._home else VERSION

    def _url(self, name: str) -> str:
        port = getattr(self.ports, name)
        if name not in self.sockets:
            return f"{LOOPBACK}:{port}"
        return f"{UNIX}{self._socket(name)}" + (f":{port}" if name == "grpc" else "")

    def _socket(self, name: str) -> Path:
        return self._folder / (SAGEMAKER_SOCKET if name == "sagemaker" else name)

    def listens(self, *names: str, over: Reach) -> list[str]:
        """The flags by which tritonserver listens there, on sockets or at ports of the loopback interface."""
        on_sockets = {Reach.SOCKETS: names, Reach.SECRET: ("metrics",), Reach.PROGRAMS: ()}[over]
        self.sockets |= frozenset(on_sockets).intersection(names)
        self.port_names = tuple(name for name in self.port_names if name not in self.sockets)
        addresses = {name: f"{UNIX}{self._socket(name)}" if name in self.sockets else LOOPBACK for name in names}
        ports = [f"--{name}-port={getattr(self.ports, name)}" for name in names]
        return [f"--{name}-address={address}" for name, address in addresses.items()] + ports

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server has not been started")
        return self._process.pid

    def start(self) -> Self:
        """Launch the server and wait until it is ready."""
        try:
            self.launch()
            try:
                self.wait_until_ready()
            except BusyAbortError:
                self.launch()
                self.wait_until_ready()
        except BaseException:  # also Ctrl-C as soon as there is a process
            self.stop()
            raise
        return self

    def launch(self) -> None:
        """Start the process, for the second time after a :class:`BusyAbortError`, with the log of both.

        The kernel ends it with the calling thread, which must therefore last.
        """
        self._launches += 1
        home = self._home or find_home()
        backends, variables = prepare_stubs(home, self.python)
        if self.command.contained:
            processes.hide_environment()
        self.ports.refuse_busy(self.port_names)
        for name in self.sockets:  # of an earlier launch
            Path(self._url(name).removeprefix(UNIX)).unlink(missing_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        arguments = self.command.program or [
            os.fspath(home.tritonserver),
            f"--backend-directory={backends}",
            f"--backend-config=python,shm-region-prefix-name={self._leftovers.shared_memory}",
            f"--exit-timeout-secs={EXIT_SECONDS}",
            *self.command.arguments,
        ]
        with processes.uninterrupted(), self.log.open("ab" if self._append_log else "wb") as output:
            # Read by this descriptor as long as this object lives: people remove logs, and the server writes on.
            kept = os.dup(output.fileno())
            weakref.finalize(self, os.close, kept)
            self.written_log = Path(f"/proc/self/fd/{kept}")
            self._log_start = output.tell()
            output.writelines(f"{message}\n".encode() for message in self.command.messages)
            output.flush()
            self._process = subprocess.Popen(
                arguments,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**self._inherited(), **variables, **self.command.environment, MARK: self._mark},
                cwd=self._folder,
                start_new_session=True,  # so that Ctrl-C reaches only this process, which stops the server
                preexec_fn=processes.die_with_parent(adopt=True),
            )

    def _inherited(self) -> dict[str, str]:
        """Return what it gets of this process's environment."""
        names = os.environ.keys() & _OF_A_CONTAINER if self.command.contained else os.environ.keys()
        return {name: os.environ[name] for name in names if not name.startswith("PYTHON") and name != PACKAGES}

    def wait_until_ready(self) -> None:
        """Wait until the launched server is ready; from any thread. A server that fails to start is stopped.

        Raises:
            BusyAbortError: launch it once more and wait again. On a machine that does much else, 2.51.0's Python
                backend sometimes aborts while it starts its stubs (server issue 8882).
            EnsembleError: it does not start, for the reason that Triton gives.
        """
        try:
            self._wait()
        except EnsembleError as error:
            if self._launches > 1 or BUSY_ABORT not in server_log.read_log(self.written_log, self._log_start):
                self.stop()
                raise
            with self._stopping:
                self._end(at_once=True)
            self._append_log = True
            raise BusyAbortError(error.message, path=self.log) from None
        except BaseException:
            self.stop()
            raise

    def alive(self) -> bool:
        return self._process is not None and not processes.has_ended(self._process.pid)

    def stop(self, at_once: bool = False) -> None:
        """Send SIGTERM, and SIGKILL if that takes too long or ``at_once``; then remove what Triton left behind.

        This is also needed for a server that has ended: its Python stubs survive a kill -9, and what a model has
        started survives the model. Several threads may call it: one of them stops the server, and the others wait.
        """
        with self._stopping:
            self._end(at_once)
            self._resources.close()
            self._remove_folder()

    def _wait(self) -> None:
        name, path = self.ready_route
        url = self._url(name)
        started = reported = looked = time.monotonic()
        stuck: list[str] = []
        ended = EndedStubs(self.pid)
        while True:
            if processes.has_ended(self.pid):
                raise self._failure("tritonserver stopped while it loaded", server_log.read_failure(self._records()))
            if answers(url, path, self.secret.http):
                return
            now = time.monotonic()
            if now - looked >= _LOOK_SECONDS:
                stuck, before = self.stuck_loads(ended), stuck
                if stuck and stuck == before:
                    raise self._failure("tritonserver waits for ever for a model", stuck)
                looked = now
            if now - started > self._ready_seconds:
                still = f"tritonserver was not ready after {self._ready_seconds:.0f} s"
                loads = self.unfinished_loads()
                raise self._failure(f"{still}; it still loaded", loads) if loads else self._failure(still, [])
            if self._progress and now - reported >= 5:
                self._progress(now - started)
                reported = now
            time.sleep(0.05)

    def _end(self, at_once: bool) -> None:
        """End the process and what it has started, and remove what Triton left behind."""
        process = self._process
        if process is not None and process.returncode is None:
            self.note_environments()
            started = processes.descendants(process.pid)
            with processes.handles([process.pid]) as own, processes.handles(started) as family:
                with contextlib.suppress(ProcessLookupError):  # where SIGCHLD is ignored, the kernel itself reaps
                    os.kill(process.pid, signal.SIGTERM)  # not process.terminate(), which may reap it
                    processes.wait_for_handles(own, 0 if at_once else EXIT_SECONDS + 10)
                # Until it is reaped, its id is that of its session, which the Python stubs belong to.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                processes.send(family, signal.SIGKILL)
            process.wait()  # the only place that reaps it
            processes.reap(-process.pid)
            end_marked(self._mark)
        self._leftovers.remove()

    def note_environments(self) -> frozenset[Path]:
        """The folders of /tmp into which the server has unpacked environments so far. ``stop`` removes them."""
        self._leftovers.find(self.pid)
        return self._leftovers.environments.folders

    def reasons(self, start: int = 0) -> list[str]:
        """Why models failed to load, in Triton's words, according to the log from byte ``start`` on."""
        return server_log.failure_reasons(self._records(start))

    def loaded(self, start: int) -> list[str]:
        """The models that have been loaded, by the log from byte ``start`` on."""
        return server_log.loaded_models(self._records(start))

    def unfinished_loads(self, start: int = 0) -> list[str]:
        """The models that are being loaded, by the log from byte ``start`` on."""
        return server_log.unfinished_loads(server_log.read_log(self.written_log, max(start, self._log_start)))

    def stuck_loads(self, ended: EndedStubs, start: int = 0) -> list[str]:
        """Return those of them that will never end, with the reasons: by the log, or by the stubs that have ended."""
        log = server_log.read_log(self.written_log, max(start, self._log_start))
        return server_log.never_loaded(log) or ended.stuck(server_log.unfinished_loads(log))

    def stuck_load(self, start: int, folder: Path) -> str:
        """Triton's reason why the load of a model in ``folder`` will never end, by the log from ``start`` on, or ""."""
        return server_log.stuck_load(server_log.read_log(self.written_log, start), folder)

    def crashed(self) -> bool:
        """Return whether the server has ended, or is printing its last words, in which it may hang."""
        return not self.alive() or "\nSignal (" in server_log.read_log(self.written_log, self._log_start)

    def began_to_load(self, start: int) -> bool:
        """Return whether the server has begun to load a model, according to the log from byte ``start`` on."""
        return server_log.began_to_load(self._records(start))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _failure(self, event: str, reasons: list[str]) -> EnsembleError:
        """A line for each reason; a single one is on the same line."""
        separator = " " if len(reasons) == 1 else "\n  "
        return EnsembleError(event + (f":{separator}{separator.join(reasons)}" if reasons else ""), path=self.log)

    def _records(self, start: int = 0) -> str:
        records = server_log.read_records(self.written_log, max(start, self._log_start), self.pid)
        for folder, name in self.known_as.items():
            records = records.replace(f"{folder}/", f"{name}/")
        return records
