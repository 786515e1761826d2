"""A small ONNX model with a variable length, and a config for it."""

import numpy as np
from onnx import TensorProto, helper

from tests.runtime.backends.conftest import Array
from tests.runtime.backends.networks import model_of

VOCABULARY, WIDTH = 100, 3
TABLE = np.random.default_rng(0).standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
TABLE[0] = 0  # id 0 is padding, which a sum must not notice


def embedding(batch: str | int = "batch", length: str | int = "length") -> bytes:
    """IDS (int32 [batch, length]) -> VECTORS (float32 [batch, length, 3]) and SUMS (float32 [batch, 3])."""
    lookup = helper.make_node("Gather", ["table", "IDS"], ["VECTORS"])
    total = helper.make_node("ReduceSum", ["VECTORS", "axis"], ["SUMS"], keepdims=0)
    tokens = helper.make_tensor_value_info("IDS", TensorProto.INT32, [batch, length])
    vectors = helper.make_tensor_value_info("VECTORS", TensorProto.FLOAT, [batch, length, WIDTH])
    sums = helper.make_tensor_value_info("SUMS", TensorProto.FLOAT, [batch, WIDTH])
    return model_of([lookup, total], [tokens], [vectors, sums], {"table": TABLE, "axis": np.array([1])})


def config(name: str, backend: str, ragged: bool = True, extra: str = "") -> str:
    return f"""
name: "{name}" backend: "{backend}" max_batch_size: 16 default_model_filename: "model.onnx"
input [ {{ name: "IDS" data_type: TYPE_INT32 dims: [ -1 ] allow_ragged_batch: {str(ragged).lower()} }} ]
output [
  {{ name: "SUMS" data_type: TYPE_FP32 dims: [ {WIDTH} ] }},
  {{ name: "VECTORS" data_type: TYPE_FP32 dims: [ -1, {WIDTH} ] }}
]
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
dynamic_batching {{ max_queue_delay_microseconds: 300000 }}
{extra}
"""


def parameter(key: str, value: str) -> str:
    return f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'


def ids(seed: int, rows: int, length: int) -> Array:
    return np.random.default_rng(seed).integers(1, VOCABULARY, (rows, length)).astype(np.int32)
