"""A plan that was built from an order: what built it, and what it answered."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.errors import EnsembleError
from triton_ensembles.files import file_digest
from triton_ensembles.tensorrt.plan_request import Order, read_order

# What trtexec prints of itself and of the device (sampleDevice.cpp, trtexec.cpp).
_FACTS = {
    "tensorrt": re.compile(r"TensorRT version: *([\d.]+)"),
    "gpu": re.compile(r"Selected Device: *(.+?) *$", re.MULTILINE),
    "compute_capability": re.compile(r"Compute Capability: *(\d+\.\d+)"),
}


@dataclass(frozen=True)
class BuiltPlan:
    """One plan with all that is known of it.

    Attributes:
        outputs: for each feed of the order, the model's outputs by name.
    """

    plan: Path
    order: Order
    tensorrt: str
    gpu: str
    compute_capability: str
    timing_cache: Path
    outputs: tuple[dict[str, NDArray[np.float32]], ...]

    def facts(self) -> dict[str, Any]:
        """For the manifest; ``check`` reads tensorrt and compute_capability."""
        cache = self.timing_cache
        return {
            "tensorrt": self.tensorrt,
            "gpu": self.gpu,
            "compute_capability": self.compute_capability,
            "precision": self.order.precision,
            "profiles": [str(profile) for profile in self.order.profiles],
            "timing_cache": {"sha256": file_digest(cache), "size": cache.stat().st_size} if cache.is_file() else None,
        }


def read_plan(folder: Path, name: str) -> BuiltPlan:
    """Raises :class:`EnsembleError` when something of it is missing or damaged."""
    plan, log = folder / f"{name}.plan", folder / f"{name}.log"
    facts = read_log(log)
    if not plan.is_file() or not plan.stat().st_size:
        raise EnsembleError("there is no such plan", path=plan, cure=f"run {name}.sh where TensorRT and the GPU are")
    try:
        order = read_order(folder, name)
        outputs = tuple(_outputs(folder / f"{name}.output{number}.json") for number in range(len(order.feeds)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EnsembleError(
            f"what this plan answered is not here, so that its accuracy is unknown: {error}",
            path=folder,
            cure=f"run {name}.sh there to its end",
        ) from error
    return BuiltPlan(plan, order, **facts, timing_cache=folder / f"{name}.timing.cache", outputs=outputs)


def read_log(path: Path) -> dict[str, str]:
    """TensorRT's version, the GPU's name and its compute capability, as trtexec printed them."""
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise EnsembleError(
            f"this log of trtexec cannot be read ({error.strerror}), and without it nobody knows what the plan is for",
            path=path,
            cure="build the plan by the script that `build.py engines` writes",
        ) from error
    found = {name: pattern.search(text) for name, pattern in _FACTS.items()}
    missing = [name for name, match in found.items() if match is None]
    if missing:
        raise EnsembleError(f"this log of trtexec does not say {' and '.join(missing)}", path=path)
    return {name: match[1] for name, match in found.items() if match is not None}


def _outputs(path: Path) -> dict[str, NDArray[np.float32]]:
    """trtexec --exportOutput: [{"name": "output", "dimensions": "1x16x384", "values": [...]}, ...]."""
    tensors = {}
    for tensor in json.loads(path.read_text()):
        shape = [int(size) for size in str(tensor["dimensions"]).split("x")]
        tensors[str(tensor["name"])] = np.array(tensor["values"], np.float32).reshape(shape)
    return tensors
