"""The memory and disk of this machine that a measurement may still take."""

import shutil
from pathlib import Path

_MEMORY_LEFT = 1 << 30  # bytes for the rest of the machine
_DISK_LEFT = 2 << 30
_MARGIN = 1.25  # a copy may take so much more than the one before


def lacks_room(folder: Path, memory_bytes: int, disk_bytes: int) -> str:
    """Why there is no room for one more copy, which takes about so much; "" where there is.

    Args:
        folder: on the file system of the copies.
    """
    needed, free = round(_MARGIN * memory_bytes) + _MEMORY_LEFT, available_memory()
    if needed > free:
        return f"the next one may need {_gib(needed)} GiB of memory with what is left free, and {_gib(free)} are free"
    needed, free = disk_bytes + _DISK_LEFT, shutil.disk_usage(folder).free
    if needed > free:
        return f"the next one needs {_gib(needed)} GiB of disk with what is left free, and {_gib(free)} are free"
    return ""


def available_memory() -> int:
    """Bytes of memory that programs can still take without others being swapped out."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"
