"""The difference between a lower precision and fp32: the same inputs, and OpenVINO for both.

The machine that builds measures it; its CPU must support bf16. Too large a difference fails the build. Without VNNI
and AMX, a CPU's sums of int8 products saturate at 16 bits: there, ONNX Runtime computes an int8 model as it is written.
It finds what OpenVINO answers with VNNI (MiniLM: 0.961 of the neighbours stay, and 0.960), not its 0.931 without.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.artifact_kinds import PRECISION, REFERENCE
from triton_ensembles.runtime.backends.common.instruction_sets import computes_int8

Floats = NDArray[np.float32]
Row = TypeVar("Row")
LEAST_COSINE = 0.9995
_HINTS = {"bf16": "bf16"}  # an int8 file says itself what is computed in int8; the rest is fp32


@dataclass(frozen=True)
class Least:
    """The least values that are accepted of a lower precision: cosines to fp32, and a share of ranks that stay."""

    least_cosine: float
    mean_cosine: float
    kept: float  # of the nearest neighbours of each sentence, or of the first classes
    cure: str

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Least":
        """Return those of the precision, but for what the recipe has."""
        return replace(LEAST[options[PRECISION]], **{key: options[key] for key in _KEYS if key in options})

    def check(self, facts: Facts) -> Facts:
        """``facts``, rounded. Raises :class:`EnsembleError`: one is less than this, or not a number."""
        for key, value in facts.items():
            required, what = next((getattr(self, name), text) for name, text in _KEYS.items() if name in key)
            if not value >= required:
                raise EnsembleError(f"{what} is {value:.6f}, and at least {required} is required", cure=self.cure)
        return {key: round(value, 6) for key, value in facts.items()}


_KEYS = {
    "least_cosine": "the lowest cosine to fp32",
    "mean_cosine": "the mean cosine to fp32",
    "kept": "the share of nearest neighbours or first classes of fp32 that stay",
}
LEAST = {
    "bf16": Least(LEAST_COSINE, LEAST_COSINE, 0.95, 'write precision = "fp32"'),
    "int8": Least(
        0.98,
        0.995,
        0.95,
        "calibrate on more data that are like these, leave nodes out that lose most (options.leave_out of int8_onnx), "
        'or write precision = "bf16" or "fp32"',
    ),
}


def batches(rows: Sequence[Row], sizes: Sequence[int]) -> list[list[Row]]:
    """A batch of each of ``sizes`` with the rows in turn, or, without sizes, each row alone."""
    endless = cycle(rows)
    return [list(islice(endless, size)) for size in sizes] or [[row] for row in rows]


def outputs(file: Path, precision: str, inputs: Iterable[Mapping[str, NDArray[Any]]], output: str) -> list[Floats]:
    """The tensor ``output`` of the model in ``file`` for each of the inputs (arrays by tensor name), from OpenVINO in
    ``precision``, "fp32", "bf16" or "int8" (of a file that is quantized).
    Raises :class:`EnsembleError`: this machine's CPU does not compute in it."""
    import openvino as ov

    if precision == "int8" and not computes_int8():
        return _as_written(file, inputs, output)
    core = ov.Core()
    if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        lacks = f"this machine's CPU ({core.get_property('CPU', 'FULL_DEVICE_NAME')}) has no {precision} instructions"
        cure = 'build on a CPU that has them (AMD Zen 4, Intel Sapphire Rapids, or newer), or write precision = "fp32"'
        raise EnsembleError(f"{lacks}, so the accuracy of {precision} cannot be measured here", cure=cure)
    compiled = core.compile_model(
        core.read_model(file), "CPU", {"INFERENCE_PRECISION_HINT": _HINTS.get(precision, "f32")}
    )
    request = compiled.create_infer_request()
    tensors = []
    for feed in inputs:
        request.infer(dict(feed))
        tensors.append(np.array(request.get_tensor(output).data))
    return tensors


def _as_written(file: Path, inputs: Iterable[Mapping[str, NDArray[Any]]], output: str) -> list[Floats]:
    """The same from ONNX Runtime, which computes each node of ``file`` on its own: products in fp32, of int8 values."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return [session.run([output], dict(feed))[0] for feed in inputs]


def measured(job: Job, inputs: Sequence[Mapping[str, NDArray[Any]]], output: str, judge: Callable[..., Facts]) -> Facts:
    """The facts of ``judge(outputs, outputs in fp32, inputs, least)`` about the job's model, which are also written.
    An int8 model is compared with the fp32 file that it is made from."""
    file, precision = job.source_file(), str(job.options[PRECISION])
    reference = job.files.get(str(job.options.get(REFERENCE)), file)
    answers = outputs(file, precision, inputs, output)
    facts = judge(answers, outputs(reference, "fp32", inputs, output), inputs, Least.of(job.options))
    job.output.write_text(json.dumps(facts))
    return facts


def cosines(vectors: Floats, references: Floats) -> NDArray[np.float64]:
    """The cosine between each row of ``vectors`` and the same row of ``references``, both [rows, size]."""
    products = (vectors.astype(np.float64) * references).sum(axis=1)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1) * np.linalg.norm(references.astype(np.float64), axis=1)
    quotients: NDArray[np.float64] = products / lengths
    return quotients


def compared(vectors: Floats, references: Floats, kept: Facts, least: Least) -> Facts:
    """The cosines of the rows of ``vectors`` to those of ``references``, and the share of ranks ``kept``, by its name.
    Raises :class:`EnsembleError`: one is less than ``least``."""
    values = cosines(vectors, references)
    facts = {"least_cosine_to_fp32": float(np.min(values)), "mean_cosine_to_fp32": float(np.mean(values))}
    return least.check(facts | kept)
