"""Logits to the likeliest tokens, best first. There are as many as the dims of SCORES say.

LOGITS  FP32  [batch, vocabulary]
TOKENS  BYTES [batch, best]   lines of vocab.txt; "##" begins a piece that continues a word
SCORES  FP32  [batch, best]   probabilities: the softmax over the vocabulary
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        config = json.loads(args["model_config"])
        self.best = int(pb_utils.get_output_config_by_name(config, "SCORES")["dims"][0])
        self.words = np.array((folder / "vocab.txt").read_bytes().splitlines(), dtype=np.object_)

    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(each, "LOGITS").as_numpy()) for each in requests]

    def answer(self, logits):
        tokens = np.argpartition(-logits, self.best, axis=1)[:, : self.best]
        order = np.argsort(-np.take_along_axis(logits, tokens, axis=1), axis=1, kind="stable")
        tokens = np.take_along_axis(tokens, order, axis=1)
        highest = logits.max(axis=1, keepdims=True)
        total = np.exp(logits - highest).sum(axis=1, keepdims=True)
        scores = np.exp(np.take_along_axis(logits, tokens, axis=1) - highest) / total
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("TOKENS", self.words[tokens]), pb_utils.Tensor("SCORES", scores.astype(np.float32))]
        )
