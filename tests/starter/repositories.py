"""The files of a small ONNX network, and the tensors of configs."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests import configs

Tensor = tuple[str, str, str]
"""Name, type and dims."""


def tensors(taken: Tensor, written: Tensor) -> str:
    return f"max_batch_size: 8\n{configs.tensors(':'.join(taken), ':'.join(written))}"


def write_network(file: Path, width: int = 3, value: float = 1) -> None:
    """X times a matrix of 4 x ``width`` with ``value`` in its diagonal is Y."""
    weights = numpy_helper.from_array(value * np.eye(4, width, dtype=np.float32), "weights")
    sizes = (("X", 4), ("Y", width))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in sizes)
    graph = helper.make_graph([helper.make_node("MatMul", ["X", "weights"], ["Y"])], "network", [x], [y], [weights])
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
