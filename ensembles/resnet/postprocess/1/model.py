"""Logits to the likeliest classes, best first. There are as many as the dims of SCORES say.

LOGITS   FP32  [batch, classes]
LABELS   BYTES [batch, best]   lines of imagenet_classes.txt
SCORES   FP32  [batch, best]   probabilities: the softmax over all classes
CLASSES  INT32 [batch, best]   numbers of the classes
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

LABELS = "imagenet_classes.txt"


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        config = json.loads(args["model_config"])
        lines = (folder / LABELS).read_bytes().splitlines()
        self.best = int(pb_utils.get_output_config_by_name(config, "SCORES")["dims"][0])
        classes = int(config["input"][0]["dims"][0])
        if len(lines) != classes or self.best > classes:
            raise pb_utils.TritonModelException(
                f"{LABELS} has {len(lines)} lines, for {classes} classes, the best {self.best} of which are wanted"
            )
        self.labels = np.array(lines, dtype=np.object_)

    def execute(self, requests):
        logits = [pb_utils.get_input_tensor_by_name(request, "LOGITS").as_numpy() for request in requests]
        scores, classes = likeliest(np.concatenate(logits), self.best)
        ends = np.cumsum([len(each) for each in logits])[:-1]
        return [
            pb_utils.InferenceResponse(
                [
                    pb_utils.Tensor("LABELS", self.labels[chosen]),
                    pb_utils.Tensor("SCORES", found),
                    pb_utils.Tensor("CLASSES", chosen),
                ]
            )
            for found, chosen in zip(np.split(scores, ends), np.split(classes, ends), strict=True)
        ]


def likeliest(logits, best):
    """Probabilities FP32 [batch, best] and classes INT32 [batch, best], best first."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    classes = np.argsort(-probabilities, axis=1, kind="stable")[:, :best]
    return np.take_along_axis(probabilities, classes, axis=1).astype(np.float32), classes.astype(np.int32)
