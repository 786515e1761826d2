"""Processes: signals that stop this one, children that never outlive it, and what the kernel knows about them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_START = 19  # of the fields of /proc/PID/stat after the name; the state is field 0, the parent field 1
_ENVIRONMENT = 47  # env_start, before env_end
_ENDED = (b"Z", b"X")
_PSS = re.compile(rb"^(Pss|Pss_Anon): +(\d+) kB$", re.MULTILINE)
_BELONGS = re.compile(rb"\(fused:(\d+)$")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LIBC = ctypes.CDLL(None)  # looked up here: a forked child should not import anything


class Process(NamedTuple):
    """A process as the kernel lists it.

    Attributes:
        id: the kernel gives it to another process later.
        start: when it started, in ticks after the boot. With the id, no other process has it.
        ended: whether it has ended, and only its exit status is left (a zombie).
    """

    id: int
    start: int
    ended: bool


class StopSignals:
    """Handles SIGINT and SIGTERM while a command runs; for the main thread, as a context manager.

    The first signal raises ``KeyboardInterrupt(number)``, later ones do nothing, so that cleaning up is not
    interrupted. After ``defer`` no signal raises, and ``received`` has the number of the first that came, or 0. SIGINT
    is handled even if it was ignored at the start, as in a background job of a shell or on a CI runner.
    """

    def __init__(self) -> None:
        self.received = 0  # not an Event: its lock may be held by the very code that the signal interrupts
        self._deferred = False

    def defer(self) -> None:
        """From now on, only note signals in ``received``."""
        if self.received:
            raise KeyboardInterrupt(self.received)  # again, in case it was swallowed
        self.hold()

    def hold(self) -> None:
        """As ``defer``, and nothing is raised for a signal that came before."""
        self._deferred = True

    def __enter__(self) -> StopSignals:
        self._before = [(number, signal.signal(number, self._receive)) for number in (signal.SIGINT, signal.SIGTERM)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        first, self.received = not self.received, self.received or number
        if first and not self._deferred:
            raise KeyboardInterrupt(number)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay signals while a process is started, because exceptions in Python's hooks for fork() are swallowed.

    A signal that comes meanwhile is handled at the end of the block.
    """
    came: list[int] = []
    before = []
    if threading.current_thread() is threading.main_thread():  # no other thread runs handlers
        before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
        before = [(number, handler) for number, handler in before if callable(handler)]
    for signal_number, _ in before:
        signal.signal(signal_number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for signal_number, handler in before:
            signal.signal(signal_number, handler)
    for number in came:
        signal.raise_signal(number)


def die_with_parent(adopt: bool = False) -> Callable[[], None]:
    """A ``preexec_fn`` after which the kernel sends SIGTERM to the child when this process ends, however it ends.

    The kernel sends it when the *thread* that started the child ends, so start children from lasting threads.

    Args:
        adopt: whether the child becomes the parent of its descendants whose own parent has ended.
    """
    parent = os.getpid()

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if adopt:
            _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(1)

    return prepare


def adopt_orphans() -> None:
    """Make this process the parent of its descendants whose own parent has ended."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1)


def reap(pid: int, options: int = 0) -> None:
    """Take note of the end of the process ``pid``, or of the group ``-pid``, as far as this process has adopted it: the
    main program of a container adopts all orphans. ``options``: those of waitpid(2)."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(pid, options)[0]:
            pass


@cache
def hide_environment() -> None:
    """Empty what /proc/PID/environ shows of this process: its variables as it was started, with the user's credentials,
    which processes that it starts with others could read there. ``os.environ`` stays as it is."""
    for name, value in os.environ.items():
        os.environ[name] = value  # the C library copies it to a place of its own (setenv(3))
    fields = short_file(os.getpid(), "stat").rpartition(b")")[2].split()
    start, end = int(fields[_ENVIRONMENT]), int(fields[_ENVIRONMENT + 1])
    ctypes.memset(start, 0, end - start)


def has_ended(pid: int) -> bool:
    """Return whether a child process has ended. It is not reaped, so that its id stays valid."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # it has been reaped
        return True


def descendants(pid: int) -> list[int]:
    """The process ids of all children of ``pid`` and of their children; empty when it has ended."""
    return [process.id for family in families(pid) for process in family]


def is_there(process: Process) -> bool:
    """Return whether it is still listed, though it may have ended."""
    try:
        return _listed(process.id)[0].start == process.start
    except OSError:
        return False


def _listed(pid: int) -> tuple[Process, int, int]:
    """The process, the id of its parent, and of the one that its name says it belongs to (runtime/fused/fork_server.py;
    else 0). Raises OSError when it is gone."""
    name, _, rest = short_file(pid, "stat").rpartition(b")")
    fields, belongs = rest.split(None, _START + 1), _BELONGS.search(name)
    return Process(pid, int(fields[_START]), fields[0] in _ENDED), int(fields[1]), int(belongs[1]) if belongs else 0


def short_file(pid: int, name: str) -> bytes:
    """A file of /proc/PID of at most a page, such as ``stat``. Raises OSError when the process is gone.

    Python's own file objects take twice as long, and an endpoint reads thousands of them a second.
    """
    file = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, _PAGE)
    finally:
        os.close(file)


def families(pid: int) -> list[list[Process]]:
    """Each child of ``pid`` with its own children and theirs, from one look at all processes.

    Asking each process for its children means asking each of its threads, and those of a hundred steps are thousands.
    """
    listed: dict[int, tuple[Process, int, int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each would take longer than the rest
        if name.isdecimal():
            with contextlib.suppress(OSError):
                listed[int(name)] = _listed(int(name))
    children: dict[int, list[Process]] = {}
    for process, parent, owner in listed.values():
        children.setdefault(owner if owner in listed else parent, []).append(process)

    def family(member: Process) -> list[Process]:
        return [member, *(relative for child in children.get(member.id, ()) for relative in family(child))]

    return [family(child) for child in children.get(pid, ())]


def with_variable(name: str, value: str) -> list[int]:
    """The process ids of all running processes of this user that were started with this environment variable."""
    assignment = f"{name}={value}".encode()
    pids = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # it has ended, or belongs to another user
            if entry.name.isdecimal() and assignment in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
    return pids


@contextlib.contextmanager
def handles(pids: Iterable[int]) -> Iterator[list[int]]:
    """Handles (pidfd) of those processes that are there. A handle stays that of its process when the id is reused."""
    with contextlib.ExitStack() as opened:
        descriptors = []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(pid))
                opened.callback(os.close, descriptors[-1])
        yield descriptors


def wait_for_handles(waited: Iterable[int], seconds: float) -> list[int]:
    """Wait until these processes have ended, for at most ``seconds`` altogether. Returns the handles of the others."""
    limit = time.monotonic() + seconds
    waiting = []
    for handle in waited:
        waiter = select.poll()  # not select(): this process may have more than 1024 files open
        waiter.register(handle, select.POLLIN)
        if not waiter.poll(max(0.0, limit - time.monotonic()) * 1000):
            waiting.append(handle)
    return waiting


def end(process: subprocess.Popen[Any], seconds: float = 5.0) -> None:
    """End a child and all processes that it has started, and reap the child. One that has ended is only reaped.

    They get SIGTERM, so that a program such as docker can stop what runs elsewhere, and SIGKILL after ``seconds``.
    """
    with handles([] if process.returncode is not None else (process.pid, *descendants(process.pid))) as family:
        end_handles(family, seconds)
        if process.returncode is None and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)  # also those whose parents have ended
        process.wait()


def end_handles(ended: Iterable[int], seconds: float) -> None:
    """Send these processes SIGTERM, and SIGKILL to those that have not ended after ``seconds``."""
    ended = list(ended)
    send(ended, signal.SIGTERM)
    send(wait_for_handles(ended, seconds), signal.SIGKILL)


def send(receivers: Iterable[int], number: int) -> None:
    """Send a signal to the processes of these handles."""
    for handle in receivers:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)


def proportional_set_size(pids: Iterable[int]) -> int:
    """Bytes of memory that these processes use together (PSS: shared pages are divided among their users).

    Processes that have ended count as 0.
    """
    return sum(memory_parts(pids))


def memory_parts(pids: Iterable[int]) -> tuple[int, int]:
    """Split :func:`proportional_set_size` into bytes that no file backs, and those of files and shared memory."""
    whole = anonymous = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            kilobytes = dict(_PSS.findall(short_file(pid, "smaps_rollup")))
            whole += int(kilobytes.get(b"Pss", 0))
            anonymous += int(kilobytes.get(b"Pss_Anon", 0))
    return anonymous * 1024, max(0, whole - anonymous) * 1024


def command_line(pid: int) -> str:
    """The command line with spaces between its words; "" for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""
