import os
import sys

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

from vocabulary import WORDS


class TritonPythonModel:
    def initialize(self, args):
        self.ids = {word: i for i, word in enumerate(WORDS)}

    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "text").as_numpy()
            rows = [[self.ids.get(w, 1) for w in t.decode().lower().split()] for t in texts]
            if not all(rows):
                error = pb_utils.TritonError("an empty text has no words")
                responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
                continue
            padded = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
            for i, row in enumerate(rows):
                padded[i, : len(row)] = row
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("input_ids", padded)]))
        return responses
