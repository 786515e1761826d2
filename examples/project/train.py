"""Trains the classifier and writes it as ONNX: softmax regression over the words of data/train.csv.

triton-ensembles runs ``python train.py OUTPUT JOB`` when the classifier is built: OUTPUT is the file to write, JOB a JSON
file with the options of the recipe.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PROJECT = Path(__file__).parent
STEPS = PROJECT / "ensembles" / "support_tickets"
TEAMS = (STEPS / "team" / "1" / "teams.txt").read_text().split()

sys.path.insert(0, str(STEPS / "bag_of_words" / "1"))
from bag import BUCKETS, bag


def read(name):
    """The texts of data/NAME.csv, and the numbers of their teams."""
    with (PROJECT / "data" / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], np.array([TEAMS.index(row["team"]) for row in rows])


def probabilities(counts, weights, bias):
    """FP32 [batch, 3], from COUNTS [batch, 512]: what the classifier computes, in numpy."""
    scores = counts @ weights + bias
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def train(rounds, rate):
    """The weights [512, 3] and the bias [3], by gradient descent from zeros: the same at each run."""
    texts, teams = read("train")
    counts, wanted = np.stack([bag(text) for text in texts]), np.eye(len(TEAMS), dtype=np.float32)[teams]
    weights, bias = np.zeros((BUCKETS, len(TEAMS)), np.float32), np.zeros(len(TEAMS), np.float32)
    for _ in range(rounds):
        error = (probabilities(counts, weights, bias) - wanted) / len(texts)
        weights -= rate * counts.T @ error
        bias -= rate * error.sum(axis=0)
    return weights, bias


def network(weights, bias):
    """COUNTS FP32 [batch, 512] to PROBABILITIES FP32 [batch, 3]."""
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["COUNTS", "weights", "bias"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["PROBABILITIES"], axis=-1),
        ],
        "classifier",
        [helper.make_tensor_value_info("COUNTS", TensorProto.FLOAT, ["batch", BUCKETS])],
        [helper.make_tensor_value_info("PROBABILITIES", TensorProto.FLOAT, ["batch", len(TEAMS)])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    output, job = map(Path, sys.argv[1:])
    onnx.save(network(*train(**json.loads(job.read_text())["options"])), output)
