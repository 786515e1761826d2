"""What a tritonserver that was killed leaves behind: shared memory of Python steps and their unpacked environments."""

import contextlib
import shutil
from pathlib import Path

from triton_ensembles.processes import descendants


class Leftovers:
    """The leftovers of one server, whose shared memory regions have names that begin with ``shared_memory``."""

    def __init__(self, shared_memory: str) -> None:
        self.shared_memory = shared_memory
        self._environments: set[Path] = set()

    def note_environments(self, pid: int) -> None:
        """Remember the packed environments that the server ``pid`` has unpacked for the steps that run now.

        They can no longer be found once the server has been killed or the steps have been unloaded.
        """
        self._environments |= _unpacked_environments(pid)

    def remove(self) -> None:
        for folder in self._environments:
            shutil.rmtree(folder, ignore_errors=True)
        for region in Path("/dev/shm").glob(f"{self.shared_memory}*"):
            region.unlink(missing_ok=True)


def _unpacked_environments(pid: int) -> set[Path]:
    """The folders /tmp/python_env_XXXXXX into which this server has unpacked packed environments (pb_env.cc).

    A server removes them when it exits normally. Each Python step has the bin folder of its environment on PATH.
    """
    found = set()
    with contextlib.suppress(OSError):
        working = Path(f"/proc/{pid}/cwd").readlink()  # the server changes into the folder while it unpacks
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
