"""When, where and with what a run was made."""

from __future__ import annotations

import platform
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from triton_ensembles.perf.facts import machine
from triton_ensembles.triton.home import VERSION

_PACKAGES = ("onnxruntime", "openvino", "tensorflow-cpu", "nvidia-dali-cuda130", "tokenizers", "numpy")


def facts(command: str) -> dict[str, Any]:
    """Date, machine and versions of a run that was started with ``command``."""
    versions = {"tritonserver": VERSION, "python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": date, "command": command, "machine": machine(), "versions": versions}
