"""Encoded pictures of one digit each to what the network reads.

IMAGE  UINT8 [batch, bytes]  PNG or JPEG files; shorter rows end in zeros
INK    FP32  [batch, 8, 8]   0 for paper to 1 for the most ink
"""

import digit
import numpy as np
import picture
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        rows = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy()
        images = []
        for number, row in enumerate(rows):
            try:
                images.append(digit.ink(*picture.decode(row.tobytes())))
            except ValueError as error:
                message = f"row {number} of IMAGE: {error}"
                return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, pb_utils.TritonError.INVALID_ARG))
        return pb_utils.InferenceResponse([pb_utils.Tensor("INK", np.stack(images))])
