"""TEXT BYTES [batch, 1], UTF-8, to COUNTS FP32 [batch, 512]."""

import numpy as np
import triton_python_backend_utils as pb_utils
from bag import bag


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        rows = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy()
        try:
            texts = [row.decode("utf-8") for row in rows[:, 0]]
        except UnicodeDecodeError as error:
            refused = pb_utils.TritonError(f"TEXT is not UTF-8: {error}", pb_utils.TritonError.INVALID_ARG)
            return pb_utils.InferenceResponse(error=refused)
        return pb_utils.InferenceResponse([pb_utils.Tensor("COUNTS", np.stack([bag(text) for text in texts]))])
