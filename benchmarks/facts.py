"""Where, when and with what a run was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from triton_ensembles.perf.facts import machine
from triton_ensembles.triton.home import VERSION

_PACKAGES = ("onnxruntime", "openvino", "tensorflow-cpu", "nvidia-dali-cuda130", "tokenizers", "numpy")


def facts(*, rounds: int, seconds: float, warm_up: float, command: str) -> dict[str, Any]:
    """Times in seconds. ``weights`` is filled by whoever builds the ensembles."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "rounds": rounds,
        "seconds": seconds,
        "warm_up": warm_up,
        "machine": machine(),
        "versions": {"tritonserver": VERSION, "python": platform.python_version()} | _versions(),
        "weights": {},
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
