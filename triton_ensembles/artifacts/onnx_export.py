"""A torch module as an ONNX file, and how much the file's outputs differ from the module's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from triton_ensembles.ground.errors import EnsembleError

if TYPE_CHECKING:
    import torch

TOOLS = ("torch", "onnx", "onnxscript", "onnxruntime")
OPSET = 17
TOLERANCE = 1e-4  # max abs difference of an output to torch, relative to the largest; fp32 gives about 1e-6


def export(
    module: torch.nn.Module,
    path: Path,
    example: Mapping[str, torch.Tensor],
    output: str,
    axes: Mapping[str, Mapping[int, str]],
    opset: int = OPSET,
) -> None:
    """Write ``module`` as the file ``path``. ``example``: its arguments in their order, by the names that they get;
    ``output``: the name of its one output; ``axes``: the axes of any size, and their names, by tensor."""
    import torch

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        # The TorchScript exporter: ONNX Runtime and TensorRT fuse only its graph completely, attention included.
        torch.onnx.export(
            module.eval(),
            tuple(example.values()),
            str(path),
            input_names=list(example),
            output_names=[output],
            dynamic_axes={name: dict(names) for name, names in axes.items()},
            opset_version=opset,
            dynamo=False,
        )


def compare(module: torch.nn.Module, path: Path, feeds: Sequence[Mapping[str, torch.Tensor]], output: str) -> float:
    """The largest difference of the file's ``output`` to the module's, relative to its largest value. Raises
    :class:`EnsembleError`: it is more than TOLERANCE, or not a number."""
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    worst = 0.0
    for feed in feeds:
        with torch.no_grad():
            expected = module(*feed.values()).numpy()
        (values,) = session.run([output], {name: value.numpy() for name, value in feed.items()})
        worst = float(np.maximum(worst, np.abs(values - expected).max() / np.abs(expected).max()))
    if not worst <= TOLERANCE:
        raise EnsembleError(f"the exported ONNX differs from torch by {worst:.2e}, more than {TOLERANCE}")
    return worst
