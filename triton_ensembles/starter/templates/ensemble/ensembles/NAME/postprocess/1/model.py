"""Scores to the best label.

SCORES  FP32 [batch, 3]    of each label of labels.txt
LABEL   BYTES [batch, 1]   the label with the highest score
SCORE   FP32 [batch, 1]    its score
"""

from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        lines = Path(__file__).with_name("labels.txt").read_text().splitlines()
        self.labels = np.array([line.encode() for line in lines], np.object_)

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        scores = pb_utils.get_input_tensor_by_name(request, "SCORES").as_numpy()
        best = scores.argmax(axis=1, keepdims=True)
        return pb_utils.InferenceResponse(
            [
                pb_utils.Tensor("LABEL", self.labels[best]),
                pb_utils.Tensor("SCORE", np.take_along_axis(scores, best, axis=1)),
            ]
        )
