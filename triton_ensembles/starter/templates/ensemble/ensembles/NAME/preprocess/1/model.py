"""Texts to features: how often each stem of a word occurs, counted in 256 buckets.

TEXT      BYTES [batch, 1]    one UTF-8 text a row
FEATURES  FP32 [batch, 256]   counts
"""

import re
import zlib

import numpy as np
import snowballstemmer
import triton_python_backend_utils as pb_utils

BUCKETS = 256


class TritonPythonModel:
    def initialize(self, args):
        self.stemmer = snowballstemmer.stemmer("english")

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        rows = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy()
        try:
            texts = [row.decode("utf-8") for row in rows[:, 0]]
        except UnicodeDecodeError as error:
            return refusal(f"TEXT is not UTF-8: {error}")
        features = np.stack([self.features(text) for text in texts])
        return pb_utils.InferenceResponse([pb_utils.Tensor("FEATURES", features)])

    def features(self, text):
        counts = np.zeros(BUCKETS, np.float32)
        for stem in self.stemmer.stemWords(re.findall(r"\w+", text.lower())):
            counts[zlib.crc32(stem.encode()) % BUCKETS] += 1
        return counts


def refusal(message):
    error = pb_utils.TritonError(message, pb_utils.TritonError.INVALID_ARG)
    return pb_utils.InferenceResponse(error=error)
