"""PROBABILITIES FP32 [batch, 3] to TEAM BYTES [batch, 1], the most likely one of teams.txt."""

from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        lines = Path(__file__).with_name("teams.txt").read_text().split()
        self.teams = np.array([line.encode() for line in lines], np.object_)

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        probabilities = pb_utils.get_input_tensor_by_name(request, "PROBABILITIES").as_numpy()
        teams = self.teams[probabilities.argmax(axis=1)]
        return pb_utils.InferenceResponse([pb_utils.Tensor("TEAM", teams[:, None])])
