"""The network of the ensemble digits: trained in a second on the digits that scikit-learn ships, written as ONNX.

    INK     FP32   [batch, 8, 8]  what ensembles/digits/preprocess makes of a picture
    LABEL   STRING [batch, 1]     the likeliest digit, "0" to "9"
    SCORE   FP32   [batch, 1]     its probability
    SCORES  FP32   [batch, 10]    the probabilities of all ten

64 inputs, 64 hidden units (ReLU), 10 outputs (softmax), by scikit-learn's MLPClassifier. A fifth of the digits is held
out of every training. The data: 1,797 digits of 43 people, E. Alpaydin and C. Kaynak, Optical Recognition of
Handwritten Digits, UCI Machine Learning Repository, 1998.

The build runs it as a maker's script: ``python pipelines/train_digits.py OUTPUT JOB``, with the option ``seed``.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier

Array = npt.NDArray[Any]

MODEL = "network/1/model.onnx"
"""The file's path in the ensemble."""
STEP = Path(__file__).resolve().parents[1] / "ensembles" / "digits" / "preprocess" / "1"
CLASSES = 10
HIDDEN = 64
EPOCHS = 40
OPSET, IR_VERSION = 17, 8  # as old as ONNX Runtime 1.13
# Processors add in different orders, which changes the last bits of float64. After rounding nothing is left of that.
_STEPS = 1 << 12
_MOST = 16.0  # the strongest ink in the data


def part_of_preprocess(name: str) -> ModuleType:
    """A module beside model.py of the step preprocess: training sees pictures as the served step does."""
    spec = importlib.util.spec_from_file_location(f"digits_{name}", STEP / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def digits() -> tuple[Array, Array, Array]:
    """Pictures uint8 [1797, 8, 8] (bright ink on black), labels [1797], and which are held out, bool [1797]."""
    from sklearn.datasets import load_digits

    data = load_digits()
    held_out = np.random.default_rng(0).permutation(len(data.target)) < len(data.target) // 5
    return (data.images * (255 / _MOST)).round().astype(np.uint8), data.target, held_out


@cache
def inks() -> Array:
    """FP64 [1797, 64]: what the step makes of the pictures."""
    ink = part_of_preprocess("digit").ink
    rows: Array = np.stack([ink(picture.astype(np.float32)).reshape(-1) for picture in digits()[0]])
    return rows.astype(np.float64)


def train(seed: int, share: float = 1.0) -> MLPClassifier:
    """The network of ``seed``.

    Args:
        share: how much of the training set it sees, drawn by the seed.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier
    from threadpoolctl import threadpool_limits

    _, labels, held_out = digits()
    chosen = np.flatnonzero(~held_out)
    chosen = chosen[np.random.default_rng(seed).permutation(len(chosen))[: round(share * len(chosen))]]
    network = MLPClassifier(
        HIDDEN, alpha=0.01, batch_size=100, learning_rate_init=5e-3, max_iter=EPOCHS, random_state=seed
    )
    seen = inks()[chosen]
    mean = seen.mean(axis=0)
    with threadpool_limits(1), warnings.catch_warnings():  # of matrices this small, threads only wait for each other
        warnings.simplefilter("ignore", ConvergenceWarning)  # it ends after EPOCHS
        network.fit(seen - mean, labels[chosen])
    network.intercepts_[0] -= mean @ network.coefs_[0]  # so it takes ink as it is
    for values in (*network.coefs_, *network.intercepts_):
        values[...] = np.round(values * _STEPS) / _STEPS
    return network


def onnx_of(network: MLPClassifier) -> bytes:
    from onnx import TensorProto, checker, helper, numpy_helper

    (first, second), (first_bias, second_bias) = network.coefs_, network.intercepts_
    values = {
        "hidden.weight": first.astype(np.float32),
        "hidden.bias": first_bias.astype(np.float32),
        "output.weight": second.astype(np.float32),
        "output.bias": second_bias.astype(np.float32),
        "labels": np.array([str(each) for each in network.classes_], dtype=object),
    }
    nodes = [
        helper.make_node("Flatten", ["INK"], ["flat"]),
        helper.make_node("Gemm", ["flat", "hidden.weight", "hidden.bias"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "output.weight", "output.bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["SCORES"]),
        helper.make_node("ReduceMax", ["SCORES"], ["SCORE"], axes=[1], keepdims=1),
        helper.make_node("ArgMax", ["SCORES"], ["best"], axis=1, keepdims=1),
        helper.make_node("Gather", ["labels", "best"], ["LABEL"]),
    ]
    side = part_of_preprocess("digit").SIDE
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("INK", TensorProto.FLOAT, ["batch", side, side])],
        [
            helper.make_tensor_value_info("LABEL", TensorProto.STRING, ["batch", 1]),
            helper.make_tensor_value_info("SCORE", TensorProto.FLOAT, ["batch", 1]),
            helper.make_tensor_value_info("SCORES", TensorProto.FLOAT, ["batch", CLASSES]),
        ],
        [numpy_helper.from_array(array, name) for name, array in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def main(output: str, job: str) -> None:
    seed = json.loads(Path(job).read_text(encoding="utf-8"))["options"]["seed"]
    Path(output).write_bytes(onnx_of(train(seed)))


if __name__ == "__main__":
    main(*sys.argv[1:])
