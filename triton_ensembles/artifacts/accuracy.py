"""The difference between a lower precision and fp32: the same inputs and the same file, compiled by OpenVINO for both.

The machine that builds measures it; its CPU must support the precision. Too large a difference fails the build.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.ground.errors import EnsembleError

Floats = NDArray[np.float32]
Row = TypeVar("Row")
LEAST_COSINE = 0.9995
_HINTS = {"fp32": "f32", "bf16": "bf16"}


def batches(rows: Sequence[Row], sizes: Sequence[int]) -> list[list[Row]]:
    """A batch of each of ``sizes`` with the rows in turn, or, without sizes, each row alone."""
    endless = cycle(rows)
    return [list(islice(endless, size)) for size in sizes] or [[row] for row in rows]


def outputs(file: Path, precision: str, inputs: Iterable[Mapping[str, NDArray[Any]]], output: str) -> list[Floats]:
    """The tensor ``output`` of the model in ``file`` for each of the inputs (arrays by tensor name), from OpenVINO in
    ``precision``, "fp32" or "bf16". Raises :class:`EnsembleError`: this machine's CPU does not compute in it."""
    import openvino as ov

    core = ov.Core()
    if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        lacks = f"this machine's CPU ({core.get_property('CPU', 'FULL_DEVICE_NAME')}) has no {precision} instructions"
        cure = 'build on a CPU that has them (AMD Zen 4, Intel Sapphire Rapids, or newer), or write precision = "fp32"'
        raise EnsembleError(f"{lacks}, so the accuracy of {precision} cannot be measured here", cure=cure)
    compiled = core.compile_model(core.read_model(file), "CPU", {"INFERENCE_PRECISION_HINT": _HINTS[precision]})
    request = compiled.create_infer_request()
    tensors = []
    for feed in inputs:
        request.infer(dict(feed))
        tensors.append(np.array(request.get_tensor(output).data))
    return tensors


def measured(job: Job, inputs: Sequence[Mapping[str, NDArray[Any]]], output: str, judge: Callable[..., Facts]) -> Facts:
    """The facts of ``judge(outputs, outputs in fp32, inputs)`` about the job's model, which are also written."""
    precisions = (str(job.options["precision"]), "fp32")
    facts = judge(*(outputs(job.source_file(), precision, inputs, output) for precision in precisions), inputs)
    job.output.write_text(json.dumps(facts))
    return facts


def least_cosine(vectors: Floats, references: Floats) -> float:
    """The lowest cosine between a row of ``vectors`` and the same row of ``references``, both [rows, size]. Raises
    :class:`EnsembleError`: it is less than LEAST_COSINE, or not a number."""
    products = (vectors.astype(np.float64) * references).sum(axis=1)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1) * np.linalg.norm(references.astype(np.float64), axis=1)
    least = float(np.min(products / lengths))
    if not least >= LEAST_COSINE:
        message = f"the lowest cosine to fp32 is {least:.6f}, and at least {LEAST_COSINE} is required"
        raise EnsembleError(message, cure='write precision = "fp32"')
    return round(least, 6)
