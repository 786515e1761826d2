"""A plan that was built from a request: the TensorRT and the GPU that built it, and its outputs."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts.tensorrt.plan_request import PlanRequest, read_request
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.files import file_digest

# What trtexec prints of itself and of the device (sampleDevice.cpp, trtexec.cpp).
_FACTS = {
    "tensorrt": re.compile(r"TensorRT version: *([\d.]+)"),
    "gpu": re.compile(r"Selected Device: *(.+?) *$", re.MULTILINE),
    "compute_capability": re.compile(r"Compute Capability: *(\d+\.\d+)"),
}


@dataclass(frozen=True)
class BuiltPlan:
    """A built plan."""

    plan: Path
    request: PlanRequest  # what it was built from
    tensorrt: str  # the version that built it, "10.4.0"
    gpu: str  # the GPU that built it, "NVIDIA A10G"
    compute_capability: str  # of that GPU, "8.6"
    timing_cache: Path  # a file, which may not exist
    # for each feed of the request, the model's outputs FP32 by name
    outputs: tuple[dict[str, NDArray[np.float32]], ...]

    def facts(self) -> dict[str, Any]:
        """For the manifest; ``check`` reads tensorrt and compute_capability."""
        cache = self.timing_cache
        return {
            "tensorrt": self.tensorrt,
            "gpu": self.gpu,
            "compute_capability": self.compute_capability,
            "precision": self.request.precision,
            "profiles": [str(profile) for profile in self.request.profiles],
            "timing_cache": {"sha256": file_digest(cache), "size": cache.stat().st_size} if cache.is_file() else None,
        }


def read_plan(folder: Path, name: str) -> BuiltPlan:
    """Read the plan ``name`` in ``folder``. Raises :class:`EnsembleError` when a file of it is missing or damaged."""
    plan, log = folder / f"{name}.plan", folder / f"{name}.log"
    facts = read_log(log)
    if not plan.is_file() or not plan.stat().st_size:
        message = "this plan does not exist"
        raise EnsembleError(message, path=plan, cure=f"run {name}.sh on a machine with TensorRT and the GPU")
    try:
        request = read_request(folder, name)
        outputs = tuple(_outputs(folder / f"{name}.output{number}.json") for number in range(len(request.feeds)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the outputs of {name}.plan cannot be read, so its accuracy is unknown: {error}"
        raise EnsembleError(message, path=folder, cure=f"run {name}.sh again, to its end") from error
    return BuiltPlan(plan, request, **facts, timing_cache=folder / f"{name}.timing.cache", outputs=outputs)


def read_log(path: Path) -> dict[str, str]:
    """TensorRT's version, the GPU's name and its compute capability in a log of trtexec. Raises :class:`EnsembleError`:
    the log cannot be read, or lacks one of them."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        message = f"this log of trtexec cannot be read ({error.strerror}), so the plan's GPU and TensorRT are unknown"
        cure = "build the plan with the script that the command engines writes"
        raise EnsembleError(message, path=path, cure=cure) from error
    facts = {name: pattern.search(text) for name, pattern in _FACTS.items()}
    missing = [name for name, match in facts.items() if match is None]
    if missing:
        message = f"this log of trtexec does not state {' and '.join(missing)}"
        raise EnsembleError(message, path=path, cure="build the plan again")
    return {name: match[1] for name, match in facts.items() if match is not None}


def _outputs(path: Path) -> dict[str, NDArray[np.float32]]:
    """trtexec --exportOutput: [{"name": "output", "dimensions": "1x16x384", "values": [...]}, ...]."""
    tensors = {}
    for tensor in json.loads(path.read_text()):
        shape = [int(size) for size in str(tensor["dimensions"]).split("x")]
        tensors[str(tensor["name"])] = np.array(tensor["values"], np.float32).reshape(shape)
    return tensors
