"""The tensors of an ONNX model, in the terms of a config."""

from typing import Any

from triton_ensembles.runtime.backends.common.model_instance import TRITON_TYPES, Tensor

# ONNX Runtime writes a type as tensor(<C type>).
_C_NAMES = {"float": "float32", "double": "float64"}


def tensor_of(node: Any) -> Tensor:
    """The tensor of a NodeArg, whose shape has a name (or None) for an axis of any size."""
    c_name = node.type.removeprefix("tensor(").removesuffix(")")
    data_type = TRITON_TYPES.get(_C_NAMES.get(c_name, c_name), node.type)
    return Tensor(node.name, data_type, tuple(size if isinstance(size, int) else -1 for size in node.shape))
