"""The log file of an endpoint, to which its containers append."""

import os
import shutil
from pathlib import Path

_MOST_BYTES = 256 << 20


def append_line(log: Path, line: str) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def trim_log(log: Path, most_bytes: int = _MOST_BYTES) -> None:
    """Move the content of a log that has grown too large to ``<name>.1``: servers append to the open file."""
    if log.exists() and log.stat().st_size > most_bytes:  # people remove logs
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)
