"""The folders /tmp/python_env_XXXXXX of one tritonserver, into which it unpacks packed environments (pb_env.cc).

Each Python backend makes one when it is loaded, heeds no TMPDIR, and deletes it only when the server exits. The steps
that run in one tell whose it is: its lib/ is on their LD_LIBRARY_PATH.
"""

import contextlib
import os
import re
from pathlib import Path

from triton_ensembles.ground.processes import descendants

_PARENT = Path("/tmp")
_PATTERN = "python_env_??????"
_NAME = re.compile(rb"/tmp/(python_env_[0-9A-Za-z]{6})(?![0-9A-Za-z])")


class UnpackedEnvironments:
    """Unpacked environments of one server, found so far. They are still known when the server has been killed."""

    def __init__(self) -> None:
        self.folders: frozenset[Path] = frozenset()  # threads may go through it while another one looks for more

    def find(self, pid: int) -> None:
        """Look for the folders of the server ``pid`` in which steps run that have been made since the last call."""
        made = set(_PARENT.glob(_PATTERN)) - self.folders
        for child in descendants(pid) if made else ():
            with contextlib.suppress(OSError):  # it has ended
                named = _NAME.findall(Path(f"/proc/{child}/environ").read_bytes())
                self.folders |= made & {_PARENT / os.fsdecode(name) for name in named}
