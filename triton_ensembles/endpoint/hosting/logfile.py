"""The endpoint's log, which its servers append to, kept from filling the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

MOST_BYTES = 256 << 20  # SageMaker's container logs verbosely: some kilobytes a request


def trim(log: Path, most_bytes: int = MOST_BYTES) -> None:
    """Move the content of a log that has grown too large to ``<name>.1``.

    The servers keep the file open for appending, so it is emptied in place; a line written at that very moment is lost.
    """
    if log.stat().st_size > most_bytes:
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)
