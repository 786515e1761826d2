"""Small networks as ONNX files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import NodeProto, TensorProto, helper

from tests.runtime.backends.networks import model_of

Tensor = tuple[str, int, list[str | int]]
"""Name, type and shape."""


def write_onnx(
    file: Path, nodes: Sequence[NodeProto], taken: Sequence[Tensor], written: Tensor, weights: Mapping[str, object]
) -> Path:
    """Write the network of these nodes, and the folders of the file."""
    inputs = [helper.make_tensor_value_info(*tensor) for tensor in taken]
    arrays = {name: np.asarray(values) for name, values in weights.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(model_of([*nodes], inputs, [helper.make_tensor_value_info(*written)], arrays))
    return file


def write_network(file: Path, width: int = 3, value: float = 1) -> Path:
    """X times a matrix of 4 x ``width`` with ``value`` in its diagonal is Y."""
    nodes = [helper.make_node("MatMul", ["X", "weights"], ["Y"])]
    x, y = (("X", TensorProto.FLOAT, ["batch", 4]), ("Y", TensorProto.FLOAT, ["batch", width]))
    return write_onnx(file, nodes, [x], y, {"weights": value * np.eye(4, width)})
