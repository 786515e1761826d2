"""Completes the config of a model that OpenVINO runs, as openvino_backend does."""

from pathlib import Path
from typing import Any

import openvino as ov

from triton_ensembles.runtime.backends.common import completion
from triton_ensembles.runtime.backends.common.model_instance import LoadError, Tensor
from triton_ensembles.runtime.backends.openvino.tensors import reason, type_of


def complete(config: dict[str, Any], file: Path) -> None:
    """Add the tensors of ``file`` where ``config`` has none.

    A model batches where its tensors have a layout with a batch axis; one without layouts does not say. Raises
    LoadError.
    """
    try:
        graph = ov.Core().read_model(file)
    except RuntimeError as error:
        raise LoadError(f"OpenVINO cannot read {file.name}: {reason(error)}") from error
    layouts = map(ov.layout_helpers.get_layout, (*graph.inputs, *graph.outputs))
    batches = all(map(ov.layout_helpers.has_batch, layouts))
    inputs, outputs = ([_tensor(port) for port in ports] for ports in (graph.inputs, graph.outputs))
    completion.complete(config, inputs, outputs, batches=batches or None)


def _tensor(port: Any) -> Tensor:
    """As openvino.cc has it: every axis is of any size where one is."""
    shape = port.partial_shape
    dims = tuple(size.get_length() if shape.is_static else -1 for size in shape)
    return Tensor(port.any_name, type_of(port), dims)
