"""trtexec, which builds plans, and the GPU that it builds them for. Only the TensorRT that built a plan reads it."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.programs import ProgramError, output_of

# trtexec's first line: "&&&& RUNNING TensorRT.trtexec [TensorRT v100400]" (8.6: v8603).
_BANNER = re.compile(r"\[TensorRT v(\d\d?)(\d\d?)(\d\d)\]")


@dataclass(frozen=True)
class Gpu:
    """``name`` as NVIDIA's driver reports it, "NVIDIA A10G"; ``compute_capability`` such as "8.6"."""

    name: str
    compute_capability: str


def docker_image(release: str) -> str:
    """NVIDIA's image of Triton: it has trtexec and exactly the TensorRT that will read the plan. That of
    tensorrt:RELEASE-py3 can differ: 23.05 has 8.6.1.6 there and 8.6.1.2 here (server issue #5975)."""
    return f"nvcr.io/nvidia/tritonserver:{release}-py3"


def find_gpu() -> Gpu | None:
    """The first GPU that nvidia-smi lists; None when there is no GPU or no driver."""
    listed = _output(["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]) or ""
    name, comma, capability = listed.partition("\n")[0].rpartition(",")
    return Gpu(name.strip(), capability.strip()) if comma else None


def trtexec_version() -> str:
    """The TensorRT of the trtexec on PATH, such as "10.4.0"; "" where there is none."""
    return banner_version(_output(["trtexec", "--help"]) or "") if shutil.which("trtexec") else ""


def run_script(script: Path) -> None:
    """Run the script of a plan request with trtexec. Raises :class:`EnsembleError`: it fails."""
    try:
        output_of(["sh", script], environment=os.environ)
    except ProgramError as error:
        raise EnsembleError(f"trtexec exited with {error.code}: {error.last_line}") from error


def banner_version(text: str) -> str:
    """The version in trtexec's banner, such as "10.4.0"; "" when there is no banner."""
    match = _BANNER.search(text)
    return ".".join(str(int(part)) for part in match.groups()) if match else ""


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if not done.returncode or "TensorRT v" in done.stdout else None
