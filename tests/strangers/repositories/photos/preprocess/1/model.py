import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            data = pb_utils.get_input_tensor_by_name(request, "IMAGE").as_numpy()
            try:
                image = Image.open(io.BytesIO(data.tobytes())).convert("RGB").resize((32, 32))
            except OSError as e:
                error = pb_utils.TritonError(f"not an image: {e}")
                responses.append(pb_utils.InferenceResponse(output_tensors=[], error=error))
                continue
            pixels = (np.asarray(image, dtype=np.float32) / 255.0 - MEAN) / STD
            pixels = np.expand_dims(pixels.transpose(2, 0, 1), axis=0)
            responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("PIXELS", pixels)]))
        return responses
