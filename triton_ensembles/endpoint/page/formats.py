"""Numbers, times and ids as the status page writes them."""

import zlib
from datetime import datetime


def size(count: float) -> str:
    """A number of bytes as text: ``12 MiB``."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def ago(then: datetime | None, now: datetime) -> str:
    """``3 s ago``, ``5 min ago``, ``2 h ago``; a dash for None."""
    if then is None:
        return "–"
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 60:
        return f"{seconds} s ago"
    return f"{seconds // 60} min ago" if seconds < 3600 else f"{seconds // 3600} h ago"


def milliseconds(value: float | None) -> str:
    """At most three digits; a dash for None."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def identifier(value: tuple[object, ...]) -> str:
    """An id for what is the same thing after an update of the page."""
    return f"k{zlib.crc32(repr(value).encode()):08x}"
