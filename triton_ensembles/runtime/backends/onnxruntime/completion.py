"""Completes the config of an ONNX model, as onnxruntime_backend does."""

from pathlib import Path
from typing import Any

import onnxruntime as ort

from triton_ensembles.runtime.backends.common import completion
from triton_ensembles.runtime.backends.common.model_instance import LoadError
from triton_ensembles.runtime.backends.onnxruntime.tensors import tensor_of


def complete(config: dict[str, Any], file: Path) -> None:
    """Add the tensors of ``file`` where ``config`` has no inputs or no outputs, and what follows for batching.

    A batch axis is one of any size in front of every tensor. Raises LoadError.
    """
    if (config.get("input") or config.get("batch_input")) and config.get("output"):
        return
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions have no other common base
        raise LoadError(f"ONNX Runtime cannot load {file.name}: {error}") from error
    inputs, outputs = ([tensor_of(node) for node in nodes] for nodes in (session.get_inputs(), session.get_outputs()))
    batches = all(tensor.dims and tensor.dims[0] == -1 for tensor in (*inputs, *outputs))
    completion.complete(config, inputs, outputs, batches=batches)
