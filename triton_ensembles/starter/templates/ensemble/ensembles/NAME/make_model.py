"""Makes the network of @NAME@: a linear layer and softmax, whose weights are random numbers from a seed.

python make_model.py OUTPUT JOB: OUTPUT is the file to write, JOB a JSON file with the options of the recipe.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def network(features, classes, seed):
    """The model: FEATURES FP32 [batch, features] to SCORES FP32 [batch, classes], which add up to 1."""
    weights = np.random.default_rng(seed).normal(size=(features, classes))
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["FEATURES", "weights"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["SCORES"], axis=-1),
        ],
        "network",
        [tensor("FEATURES", features)],
        [tensor("SCORES", classes)],
        [numpy_helper.from_array(weights.astype(np.float32), "weights")],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def tensor(name, size):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])


if __name__ == "__main__":
    output, job = map(Path, sys.argv[1:])
    onnx.save(network(**json.loads(job.read_text())["options"]), output)
