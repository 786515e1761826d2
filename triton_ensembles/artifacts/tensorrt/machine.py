"""The NVIDIA GPU of this machine."""

import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """``name`` as NVIDIA's driver reports it, "NVIDIA A10G"; ``compute_capability`` such as "8.6"."""

    name: str
    compute_capability: str


def find_gpu() -> Gpu | None:
    """The first GPU that nvidia-smi lists; None when there is no GPU or no driver."""
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    name, comma, capability = next(iter(done.stdout.splitlines()), "").rpartition(",")
    return Gpu(name.strip(), capability.strip()) if comma and not done.returncode else None
