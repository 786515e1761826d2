"""This machine's GPU, and three ways to TensorRT: its Python package, trtexec on PATH, NVIDIA's image in Docker.

The first whose TensorRT is that of the target's image is taken: a plan is read by the version that built it only.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from triton_ensembles.errors import EnsembleError
from triton_ensembles.triton.releases import agree

PYTHON, TRTEXEC, DOCKER = "tensorrt", "trtexec", "docker"
# trtexec's first line: "&&&& RUNNING TensorRT.trtexec [TensorRT v100400]" (8.6: v8603).
_BANNER = re.compile(r"\[TensorRT v(?:(\d\d)(\d\d)(\d\d)|(\d)(\d)(\d\d))\]")


@dataclass(frozen=True)
class Way:
    """``name`` is one of the three, ``tensorrt`` its version; ``image`` is Docker's."""

    name: str
    tensorrt: str
    image: str = ""


@dataclass(frozen=True)
class Gpu:
    """``name`` as NVIDIA's driver says it ("NVIDIA A10G"), ``compute_capability`` "8.6"."""

    name: str
    compute_capability: str


def find_gpu() -> Gpu | None:
    """The first GPU, as nvidia-smi names it; None where there is none, or no driver."""
    listed = _output(["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]) or ""
    name, comma, capability = listed.partition("\n")[0].rpartition(",")
    return Gpu(name.strip(), capability.strip()) if comma else None


def docker_image(release: str) -> str:
    """NVIDIA's image of the release: the very TensorRT that will read the plan, and trtexec (in /usr/src/tensorrt/bin).
    tensorrt:RELEASE-py3 is not always the same: 23.05 has 8.6.1.6 there and 8.6.1.2 here (server issue #5975)."""
    return f"nvcr.io/nvidia/tritonserver:{release}-py3"


def find_way(release: str, tensorrt: str, progress: Callable[[str], None]) -> Way | None:
    """The first way that has the ``tensorrt`` of the image ("" when that is unknown: then any)."""
    for way in _ways(release):
        if way.name == DOCKER or not tensorrt or agree(way.tensorrt, tensorrt):
            return way
        progress(f"{way.name} here is TensorRT {way.tensorrt}, and Triton {release} has {tensorrt}: looking further")
    return None


def run_script(way: Way, script: Path) -> None:
    """Build the order's plan by its script, with trtexec here or in Docker. Raises :class:`EnsembleError`."""
    command: list[str | Path] = ["sh", script]
    if way.name == DOCKER:
        user = f"{os.getuid()}:{os.getgid()}"
        command = ["docker", "run", "--rm", "--gpus", "all", "--user", user, "--volume", f"{script.parent}:/engines"]
        command += [way.image, "sh", f"/engines/{script.name}"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise EnsembleError(f"{way.name} ended with {done.returncode}: {lines[-1] if lines else 'without a word'}")


def _ways(release: str) -> Iterator[Way]:
    if importlib.util.find_spec("tensorrt") and importlib.util.find_spec("polygraphy"):
        found = _output([sys.executable, "-c", "import tensorrt; print(tensorrt.__version__)"])
        if found is not None:
            yield Way(PYTHON, found.strip())
    if shutil.which("trtexec"):
        found = banner_version(_output(["trtexec", "--help"]) or "")
        if found:
            yield Way(TRTEXEC, found)
    # `docker info` asks the engine: the program alone can do nothing.
    if shutil.which("docker") and "nvidia" in (_output(["docker", "info", "--format", "{{.Runtimes}}"]) or ""):
        yield Way(DOCKER, "", docker_image(release))


def banner_version(text: str) -> str:
    """``10.4.0`` of trtexec's banner; "" when there is none."""
    match = _BANNER.search(text)
    return ".".join(str(int(part)) for part in match.groups() if part) if match else ""


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if not done.returncode or "TensorRT v" in done.stdout else None
