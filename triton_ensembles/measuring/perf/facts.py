"""The machine, versions and weights of a measurement, without which its numbers mean nothing."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import tritonclient.http as http

from triton_ensembles.server.home import WHEELS


def machine() -> dict[str, Any]:
    """Processor, usable cores, memory in GiB, system, and the load average of the last minute before."""
    return {
        "processor": _first(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo")) or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "load_average_before": round(os.getloadavg()[0], 2),
    }


def versions(client: http.InferenceServerClient) -> dict[str, str]:
    """The versions of the server, of perf_analyzer (of its wheel: its --version prints nothing) and of Python."""
    wheel = _first(r"(?m)^tritonclient==(\S+)", WHEELS)
    return {
        "tritonserver": str(client.get_server_metadata()["version"]),
        "perf_analyzer": f"wheel tritonclient {wheel}",
        "python": platform.python_version(),
    }


def _first(pattern: str, path: Path) -> str:
    try:
        match = re.search(pattern, path.read_text(encoding="utf-8"))
    except OSError:
        return ""
    return match[1].strip() if match else ""
