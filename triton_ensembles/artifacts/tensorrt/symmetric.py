"""Activations of a quantized ONNX file with a zero point of 0, the only one that TensorRT takes, and in INT8."""

from typing import Any

import numpy as np


def make_symmetric(model: Any) -> None:
    """Change the QuantizeLinear nodes of the ONNX ``model``: a range of 0 to 6 becomes -6 to 6.

    Source: TensorRT operators, QuantizeLinear: "the zero-point must be all zeros"; type constraint INT8.
    """
    from onnx import TensorProto, numpy_helper

    initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    declared = {value.name: value.type.tensor_type for value in model.graph.value_info}
    for node in model.graph.node:
        if node.op_type != "QuantizeLinear":
            continue
        scale, zero = (initializers[name] for name in node.input[1:3])  # DequantizeLinear names the same
        steps, offset = numpy_helper.to_array(scale), numpy_helper.to_array(zero)
        limits = np.iinfo(offset.dtype)
        most = np.maximum(limits.max - offset.astype(np.float32), offset.astype(np.float32) - limits.min)
        if offset.dtype == np.int8 and not offset.any():
            continue
        scale.CopyFrom(numpy_helper.from_array((steps * most / 127).astype(np.float32), scale.name))
        zero.CopyFrom(numpy_helper.from_array(np.zeros_like(offset, np.int8), zero.name))
        for name in {zero.name, node.output[0]} & declared.keys():
            declared[name].elem_type = TensorProto.INT8
