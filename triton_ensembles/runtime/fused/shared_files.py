"""Equal files of several ensembles are in memory once: libraries, and weights that variants of one pipeline share.

Linux shares the pages of one file, not of equal files. So before a library is loaded, each large file that another
fused ensemble of this server also has becomes a hard link to that one: on a multi-model endpoint only, where the folder
is the container's own; where it is read-only or on another file system, the files stay as they are.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias

from triton_ensembles.runtime.backends.common.instance_engine import foreign_lock
from triton_ensembles.runtime.fused.integrity import sha256_of
from triton_ensembles.runtime.fused.plan import PLAN
from triton_ensembles.runtime.fused.process_ends import children_of

Files: TypeAlias = Mapping[str, tuple[int, str]]
_LARGE = 1 << 18  # bytes; smaller files together take little memory
_MOST_ENSEMBLES = 8  # that are looked at: their plans have to be read


def share_files(folder: Path) -> frozenset[str]:
    """Link large files of the version folder to equal ones of ensembles that this server has loaded: their paths."""
    if os.environ.get("SAGEMAKER_MULTI_MODEL") != "true":
        return frozenset()
    missing = {path: file for path, file in _files(folder).items() if file[0] >= _LARGE}
    shared: set[str] = set()
    for sibling in islice(_others(folder), _MOST_ENSEMBLES if missing else 0):
        proven = _proven(sibling)
        for path, file in _files(sibling).items():
            if missing.get(path) == file and _link(sibling / path, folder / path, file[1], proven):
                shared.add(path)
                del missing[path]
        if not missing:
            break
    return frozenset(shared)


def has_company(folder: Path) -> bool:
    """Return whether this server has loaded another fused ensemble."""
    return any((sibling / PLAN).is_file() for sibling in islice(_others(folder), _MOST_ENSEMBLES))


def show_proven(folder: Path, began: int) -> IO[bytes]:
    """Show others that the files were compared with the plan after the time ``began`` in ns: while this process has the
    result open, it has a lock of plan.json, of the byte with that number."""
    plan = (folder / PLAN).open("rb")
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.lockf(plan, fcntl.LOCK_SH, 1, began)
    return plan


def _proven(folder: Path) -> int:
    """The time in ns after which the files were compared with the plan, if their ensemble is loaded; else 0."""
    with contextlib.suppress(OSError), (folder / PLAN).open("rb") as plan:
        return foreign_lock(plan) or 0
    return 0


def _files(folder: Path) -> Files:
    try:
        files = json.loads((folder / PLAN).read_bytes())["files"]
        return {path: (size, sha256) for path, (size, sha256) in files.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # Of another build; a damaged plan of our own is refused later.
        return {}


def _others(folder: Path) -> Iterator[Path]:
    """The version folders of the other Python models of this server, whose stubs are its children."""
    folders = {folder}
    for process in children_of(os.getppid()):
        sibling = _model_of(process)
        if sibling and sibling not in folders:
            folders.add(sibling)
            yield sibling


def _model_of(process: int) -> Path | None:
    """The version folder of a stub: the first argument is its model.py (python_backend r24.10, stub_launcher.cc)."""
    with contextlib.suppress(OSError):  # it has ended
        arguments = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        if len(arguments) > 1 and arguments[1].endswith(b"/model.py"):
            return Path(os.fsdecode(arguments[1])).parent
    return None


def _link(source: Path, target: Path, sha256: str, proven: int) -> bool:
    """Return whether ``target`` is now a link to ``source``, which has this content; it had it at the time
    ``proven``."""
    link = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if source.samefile(target):  # by another instance, which has compared the content
            return False
        os.link(source, link)
        # An ensemble that is loading may be refused later, and a file may be damaged after its load.
        if link.stat().st_mtime_ns < proven or sha256_of(link) == sha256:
            link.replace(target)
            return True
    except OSError:
        pass
    with contextlib.suppress(OSError):
        link.unlink()
    return False
