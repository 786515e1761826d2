"""Encoded pictures of one digit each to what the network reads.

IMAGE  UINT8 [batch, bytes]  PNG or JPEG files; shorter rows end in zeros
INK    FP32  [batch, 8, 8]   0 for paper to 1 for the most ink
"""

import digit
import jpeg
import numpy as np
import png
import triton_python_backend_utils as pb_utils

MOST_PIXELS = 1 << 24  # 16 megapixels: a file of a few bytes could otherwise ask for gigabytes


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        rows = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy()
        images = []
        for number, row in enumerate(rows):
            try:
                images.append(read(row.tobytes()))
            except ValueError as error:
                message = f"row {number} of IMAGE: {error}"
                return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, pb_utils.TritonError.INVALID_ARG))
        return pb_utils.InferenceResponse([pb_utils.Tensor("INK", np.stack(images))])


def read(content):
    """FP32 [8, 8]. Raises ValueError for what is not a PNG or a JPEG."""
    content = content.rstrip(b"\0")  # neither format ends in a zero, so these are padding
    if content.startswith(png.SIGNATURE):
        return digit.ink(*png.decode(content, MOST_PIXELS))
    if content.startswith(jpeg.SIGNATURE):
        return digit.ink(jpeg.decode(content, MOST_PIXELS))
    raise ValueError("this is neither a PNG nor a JPEG file")
