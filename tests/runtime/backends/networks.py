"""Networks with enough weights to be mapped, as ONNX, and a config for one of them; a small frozen graph, and a config
for it; a small SavedModel."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.configs import ON_CPU, tensors

VOCABULARY, WIDTH, SIDE = 120, 1200, 12
KERNEL = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
Array = np.ndarray


def sentences(seed: int = 0, vocabulary: int = VOCABULARY) -> bytes:
    """IDS (int32 [batch, length]) -> VECTORS (float32 [batch, length, 1200]); the file has about 12 MB."""
    generator = np.random.default_rng(seed)
    weights = {
        "table": generator.standard_normal((vocabulary, WIDTH)),
        "first": generator.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5,
        "second": generator.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5,
    }
    nodes = [
        helper.make_node("Gather", ["table", "IDS"], ["rows"]),
        helper.make_node("MatMul", ["rows", "first"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("MatMul", ["active", "second"], ["VECTORS"]),
    ]
    ids = helper.make_tensor_value_info("IDS", TensorProto.INT32, ["batch", "length"])
    vectors = helper.make_tensor_value_info("VECTORS", TensorProto.FLOAT, ["batch", "length", WIDTH])
    return model_of(nodes, [ids], [vectors], weights)


def images(seed: int = 0) -> bytes:
    """IMAGE (float32 [batch, 32, 12, 12]) -> VECTORS (float32 [batch, 256, 10, 10]); the file has about 5 MB."""
    generator = np.random.default_rng(seed)
    weights = {
        "first": generator.standard_normal((512, 32, 3, 3)) / 17,
        "second": generator.standard_normal((256, 512, 3, 3)) / 68,
    }
    nodes = [
        helper.make_node("Conv", ["IMAGE", "first"], ["hidden"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Conv", ["active", "second"], ["VECTORS"]),
    ]
    image = helper.make_tensor_value_info("IMAGE", TensorProto.FLOAT, ["batch", 32, SIDE, SIDE])
    vectors = helper.make_tensor_value_info("VECTORS", TensorProto.FLOAT, ["batch", 256, SIDE - 2, SIDE - 2])
    return model_of(nodes, [image], [vectors], weights)


def noise() -> bytes:
    """The same weights as ``sentences``, and an answer that differs from run to run."""
    model = onnx.load_from_string(sentences())
    model.graph.node[-1].output[0] = "clear"
    model.graph.node.append(helper.make_node("RandomNormalLike", ["clear"], ["noise"]))
    model.graph.node.append(helper.make_node("Add", ["clear", "noise"], ["VECTORS"]))
    content: bytes = model.SerializeToString()
    return content


def feed(content: bytes, seed: int = 1) -> dict[str, Array]:
    """A random batch for one of the networks."""
    generator = np.random.default_rng(seed)
    if onnx.load_from_string(content).graph.input[0].name == "IDS":
        return {"IDS": generator.integers(0, VOCABULARY, (3, 7)).astype(np.int32)}
    return {"IMAGE": generator.standard_normal((2, 32, SIDE, SIDE)).astype(np.float32)}


def config(name: str, extra: str = "", instances: int = 1) -> str:
    """For ``sentences``. One thread, so that equal graphs give equal bits."""
    return f"""
name: "{name}" backend: "onnxruntime" max_batch_size: 16
input [ {{ name: "IDS" data_type: TYPE_INT32 dims: [ -1 ] }} ]
output [ {{ name: "VECTORS" data_type: TYPE_FP32 dims: [ -1, {WIDTH} ] }} ]
instance_group [ {{ count: {instances} kind: KIND_CPU }} ]
parameters {{ key: "intra_op_thread_count" value {{ string_value: "1" }} }}
{extra}
"""


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    weights: dict[str, Array],
    opset: int = 17,
) -> bytes:
    """An ONNX file; float64 weights become float32."""
    arrays = {name: array.astype(np.float32) if array.dtype == float else array for name, array in weights.items()}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "network", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    content: bytes = model.SerializeToString()
    return content


def frozen_graph(batch: int | None = None) -> bytes:
    """input [batch, 4] -> layer/scores [batch, 3], and after them shifted [batch, 3]."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        given = tf.compat.v1.placeholder(tf.float32, [batch, 4], name="input")
        scores = tf.matmul(given, KERNEL, name="layer/scores")
        tf.add(scores, 1.0, name="shifted")
        content: bytes = graph.as_graph_def().SerializeToString()
    return content


def graph_config(name: str, backend: str, output: str = "layer/scores") -> str:
    head = f'name: "{name}" backend: "{backend}" max_batch_size: 16 default_model_filename: "model.graphdef"\n'
    batching = "dynamic_batching { max_queue_delay_microseconds: 200000 }\n"
    return head + tensors("input:FP32:4", f"{output}:FP32:3") + ON_CPU + batching


def save_model(folder: Path) -> Path:
    """Write a SavedModel that multiplies by a variable, as AWS's notebooks of TensorFlow have one of MNIST: X (float32
    [batch, 2]) -> Y, twice as much."""
    import tensorflow as tf

    class Double(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="X")])  # type: ignore[untyped-decorator]
        def __call__(self, given: Any) -> dict[str, Any]:
            return {"Y": given * self.factor}

    module = Double()
    tf.saved_model.save(module, str(folder), signatures=module.__call__)
    return folder
