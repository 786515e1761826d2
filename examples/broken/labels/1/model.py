import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        names = json.loads((Path(__file__).parent.parent / "labels.json").read_text())
        self.names = np.array([names[str(i)] for i in range(len(names))], dtype=object)

    def execute(self, requests):
        responses = []
        for request in requests:
            logits = pb_utils.get_input_tensor_by_name(request, "logits").as_numpy()
            exp = np.exp(logits - logits.max(axis=-1, keepdims=True))
            scores = exp / exp.sum(axis=-1, keepdims=True)
            best = scores.argmax(axis=-1)
            label = pb_utils.Tensor("LABEL", self.names[best].reshape(-1, 1))
            score = pb_utils.Tensor("SCORE", scores.max(axis=-1, keepdims=True).astype(np.float32))
            responses.append(pb_utils.InferenceResponse(output_tensors=[label, score]))
        return responses
