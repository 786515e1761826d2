"""A process of a multi-model endpoint that workers are forked from: what it has imported is in memory once.

The second fused ensemble of a server starts one, and others join that have the same packages, by digest. It listens
once the files that it has imported from are proven, and ends with its last worker; it being killed ends no worker, and
the next load starts another. A worker and the fork server are no children of the stubs whose work they do, so that they
have names by which they are found: "fused:" and the id of the stub, or of the server.
"""

import contextlib
import ctypes
import gc
import hashlib
import importlib
import os
import select
import selectors
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from triton_ensembles.runtime.backends import ENGINES
from triton_ensembles.runtime.fused import process_ends
from triton_ensembles.runtime.fused.idle_memory import trim
from triton_ensembles.runtime.fused.inherited_modules import forget_stub, move_modules
from triton_ensembles.runtime.fused.plan import STEPS, Plan

_IMAGE_KINDS = ("Bmp", "Gif", "Jpeg", "Ppm", "Png")  # of those Pillow imports the parts when it opens the first image
_IMPORTED = ("numpy", "tokenizers", *(f"PIL.{kind}ImagePlugin" for kind in _IMAGE_KINDS))  # beside the engines
_PUBLISH, _FORK = b"p", b"f"
_INTEGER = struct.Struct("i")
_DESCRIPTORS = 9  # of a worker, see worker_process.work
_SHARED_MEMORY = "/dev/shm/"
_CREDENTIALS = struct.Struct("3i")  # unix(7), SO_PEERCRED: pid, uid, gid
Work = Callable[[Sequence[int], Callable[[Path], None]], NoReturn]
"""The work of a worker; see worker_process.work."""


class Fork:
    """A worker that a fork server forked, as its stub sees it."""

    def __init__(self, connection: socket.socket, descriptors: Sequence[int]) -> None:
        """Raises OSError: the fork server is gone."""
        self._connection = connection
        socket.send_fds(connection, [_FORK], descriptors)
        pid, handles, _, _ = socket.recv_fds(connection, _INTEGER.size, 1)
        if not handles:
            raise OSError("the fork server has ended")
        self.pid, self._handle = _INTEGER.unpack(pid)[0], handles[0]

    def publish(self) -> None:
        """Let other stubs use the fork server: the files that it has imported from are proven."""
        with contextlib.suppress(OSError):
            self._connection.send(_PUBLISH)

    def has_ended(self) -> bool:
        return bool(select.select([self._handle], [], [], 0)[0])

    def wait(self) -> int | None:
        """Wait for the end: the status of waitpid, None if the fork server is gone, too."""
        select.select([self._handle], [], [])
        try:
            status = self._connection.recv(_INTEGER.size)
        except OSError:
            status = b""
        self._connection.close()
        os.close(self._handle)
        return _INTEGER.unpack(status)[0] if status else None


def is_possible() -> bool:
    """On a multi-model endpoint, unless the kernel is older than 5.3 or a sandbox forbids handles of processes."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return os.environ.get("SAGEMAKER_MULTI_MODEL") == "true"


def address_of(plan: Plan, server: int) -> str:
    """The address of the fork server for the packages of a plan."""
    packages = sorted(file for file in plan.files.items() if not file[0].startswith(f"{STEPS}/"))
    backends = sorted({step.backend for step in plan.models})
    said = repr((packages, backends, sorted(os.environ.items()), sys.version, sys.prefix))
    return f"\0triton_ensembles/{server}/{hashlib.sha256(said.encode()).hexdigest()}"


def connect(address: str) -> socket.socket | None:
    """A connection to the fork server that listens there, of the same user; None if there is none."""
    connection = _socket()
    try:
        connection.connect(address)
        if _user_of(connection) == os.getuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None


def start(address: str, plan: Plan, folder: Path, work: Work) -> socket.socket:
    """Start one, and connect with it. Before this process adopts orphans: it is not to be a child of it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = os.getppid()
    between = os.fork()
    if between:
        theirs.close()
        os.waitpid(between, 0)
        return ours
    code = 1
    try:
        if not os.fork():
            ours.close()
            process_ends.take_name(server, f"fork server of fused ensembles of tritonserver {server}")
            process_ends.adopt_orphans()
            _leave_shared_memory()
            place = os.open(folder, os.O_PATH)
            _import(plan, folder, f"/proc/self/fd/{place}")
            _ForkServer(address, theirs, partial(_enter, place), work).run()
        code = 0
    except BaseException:
        traceback.print_exc()  # to the server's log; the stub then forks the worker itself
    finally:
        os._exit(code)


def _import(plan: Plan, folder: Path, place: str) -> None:
    """Import what the workers share from the version folder by a path that is, in each, that of its own: the first one
    may be deleted before the other parts of a package are imported."""
    forget_stub(folder)
    move_modules(folder, place)
    for module in ("loading", "called_models", "counters"):
        importlib.import_module(f"triton_ensembles.runtime.fused.{module}")
    for name in _IMPORTED:
        if f"{name.partition('.')[0]}/__init__.py" in plan.files:
            importlib.import_module(name)
    for backend in {step.backend for step in plan.models} & set(ENGINES):
        importlib.import_module(f"triton_ensembles.runtime.backends.{ENGINES[backend][1]}")
    gc.collect()
    trim()
    gc.freeze()  # the workers' garbage collectors then do not copy the pages of what is alive here


def _enter(place: int, folder: Path) -> None:
    """In a worker: let the path of modules be that of its own version folder, and its random numbers its own."""
    own = os.open(folder, os.O_PATH)
    os.dup2(own, place, inheritable=False)
    os.close(own)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


class _ForkServer:
    """Forks a worker for each connection, and ends with the last connection and the last worker."""

    def __init__(self, address: str, first: socket.socket, enter: Callable[[Path], None], work: Work) -> None:
        self._address, self._enter, self._work = address, enter, work
        self._selector = selectors.PollSelector()
        self._listener: socket.socket | None = None
        self._workers: dict[socket.socket, int] = {}  # their ids by connection
        self._add(first)

    def run(self) -> None:
        while len(self._selector.get_map()) > bool(self._listener):
            for key, _ in self._selector.select():
                key.data()

    def _add(self, connection: socket.socket) -> None:
        if _user_of(connection) == os.getuid():
            self._selector.register(connection, selectors.EVENT_READ, partial(self._read, connection))
        else:
            connection.close()

    def _read(self, connection: socket.socket) -> None:
        try:
            message, descriptors, _, _ = socket.recv_fds(connection, 1, _DESCRIPTORS)
        except OSError:
            message, descriptors = b"", []
        if message == _PUBLISH:
            self._listen()
        elif message == _FORK:
            self._fork(connection, descriptors)
        else:  # the stub has ended
            self._selector.unregister(connection)
            connection.close()
            if connection in self._workers:
                os.kill(self._workers[connection], signal.SIGKILL)

    def _listen(self) -> None:
        listener = _socket()
        try:
            listener.bind(self._address)
        except OSError:  # this or another one does already
            listener.close()
            return
        listener.listen()
        self._listener = listener
        self._selector.register(listener, selectors.EVENT_READ, lambda: self._add(listener.accept()[0]))

    def _fork(self, connection: socket.socket, descriptors: Sequence[int]) -> None:
        pid = os.fork()
        if not pid:
            for key in self._selector.get_map().values():
                os.close(key.fd)
            self._work(descriptors, self._enter)
        for descriptor in descriptors:
            os.close(descriptor)
        self._workers[connection], handle = pid, os.pidfd_open(pid)
        self._selector.register(handle, selectors.EVENT_READ, partial(self._reap, connection, handle))
        with contextlib.suppress(OSError):
            socket.send_fds(connection, [_INTEGER.pack(pid)], [handle])

    def _reap(self, connection: socket.socket, handle: int) -> None:
        """Tell the stub how its worker ended, and end what that had started."""
        status = os.waitpid(self._workers.pop(connection), 0)[1]
        self._selector.unregister(handle)
        os.close(handle)
        process_ends.end_orphans(self._workers.values())
        with contextlib.suppress(OSError):
            connection.send(_INTEGER.pack(status))


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _user_of(connection: socket.socket) -> int:
    """The user whose process is at the other end."""
    return int(_CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1])


def _leave_shared_memory() -> None:
    """Unmap and close what the stub shares with the server: it would be kept in memory when its model is gone."""
    libc = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, *_, path = line.split(maxsplit=5)
        if path.startswith(_SHARED_MEMORY):
            begin, end = (int(address, 16) for address in addresses.split("-"))
            libc.munmap(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin))
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # that of the listing itself
            if str(descriptor.readlink()).startswith(_SHARED_MEMORY):
                os.close(int(descriptor.name))
