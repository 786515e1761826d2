"""The folders /tmp/python_env_XXXXXX of one tritonserver, into which it unpacks packed environments (pb_env.cc).

Each Python backend makes one when it is loaded, heeds no TMPDIR, and deletes it only when the server exits. Nothing
outside the server says which is whose, also when no step runs because its environment could not be unpacked. But the
server keeps the path in its memory, which its parent may read.
"""

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from triton_ensembles.ground.processes import descendants

_PARENT = Path("/tmp")
_PATTERN = "python_env_??????"
_NAME = re.compile(rb"/tmp/(python_env_[0-9A-Za-z]{6})(?![0-9A-Za-z])")
_CHUNK = 1 << 20
_PAGE = os.sysconf("SC_PAGE_SIZE")
_IN_USE = 0x40  # in the last byte of a page's entry in pagemap: present or swapped
_NEW_SECONDS = 5.0  # a folder may be made a moment before its path is where it is looked for


class UnpackedEnvironments:
    """Unpacked environments of one server, found so far. They are still known when the server has been killed."""

    def __init__(self) -> None:
        self.folders: frozenset[Path] = frozenset()  # threads may go through it while another one looks for more
        self._others: set[tuple[Path, int]] = set()
        self._seen: set[tuple[Path, int]] = set()  # in the server's memory, while they were new

    def find(self, pid: int, *, again: bool = True) -> None:
        """Look for the folders of the server ``pid`` that have been made since the last call.

        ``again``: also for those that were too new to be sure of. Reading the memory of a server takes a tenth of a
        second, and other servers of this machine make folders.
        """
        began = _start_time(pid)
        candidates: dict[Path, os.stat_result] = {}
        for path in set(_PARENT.glob(_PATTERN)) - self.folders:
            with contextlib.suppress(OSError):
                facts = path.lstat()
                if facts.st_ctime >= began and (path, facts.st_ino) not in self._others:
                    candidates[path] = facts
        settled = time.time() - _NEW_SECONDS
        folders = {(path, facts.st_ino) for path, facts in candidates.items()}
        old = {(path, facts.st_ino) for path, facts in candidates.items() if facts.st_ctime < settled}
        if not (folders if again else old | folders - self._seen):
            return
        self._seen = folders
        try:
            named = {_PARENT / os.fsdecode(name) for name in names_in_memory(pid)}
        except PermissionError:  # a kernel on which parents may not (kernel.yama.ptrace_scope above 1)
            named = _on_paths_of_steps(pid)
        except OSError:  # it has ended
            return
        self.folders |= named & candidates.keys()
        self._others |= old


def _start_time(pid: int) -> float:
    """When the process began, by the clock of files, with a second to spare; 0.0 when it has ended."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 0.0
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted + ticks / os.sysconf("SC_CLK_TCK") - 1


def names_in_memory(pid: int) -> set[bytes]:
    """Search the anonymous memory of the process for folders of unpacked environments. Raises OSError."""
    names: set[bytes] = set()
    process = Path("/proc") / str(pid)
    with (process / "mem").open("rb", buffering=0) as memory, (process / "pagemap").open("rb", buffering=0) as pagemap:
        for start, end in _anonymous_mappings(process):
            for at in range(start, end, _CHUNK):
                pages = min(_CHUNK, end - at) // _PAGE
                # Stacks of threads are mostly untouched: reading them would take seconds.
                if max(os.pread(pagemap.fileno(), pages * 8, at // _PAGE * 8)[7::8], default=0) < _IN_USE:
                    continue
                with contextlib.suppress(OSError):  # unmapped meanwhile
                    overlap = min(end - at, pages * _PAGE + 32)  # a path may lie across two chunks
                    names |= set(_NAME.findall(os.pread(memory.fileno(), overlap, at)))
    return names


def _anonymous_mappings(process: Path) -> Iterator[tuple[int, int]]:
    for line in (process / "maps").read_text(errors="replace").splitlines():
        addresses, access, _, _, inode, *_ = line.split()
        if access.startswith("rw") and inode == "0":
            start, _, end = addresses.partition("-")
            yield int(start, 16), int(end, 16)


def _on_paths_of_steps(pid: int) -> set[Path]:
    """Folders whose ``bin`` is on the PATH of a step that runs."""
    folders = set()
    for child in descendants(pid):
        with contextlib.suppress(OSError):
            folders |= set(_NAME.findall(Path(f"/proc/{child}/environ").read_bytes()))
    return {_PARENT / os.fsdecode(name) for name in folders}
