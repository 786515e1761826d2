"""Token vectors to one unit vector a sentence: masked mean, then L2 normalisation, as sentence-transformers does.

TOKEN_EMBEDS_POST  FP32  [batch, tokens, 384]
ATTENTION_POST     INT32 [batch, tokens]
SENT_EMBED         FP32  [batch, 384]
"""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            embeddings = pb_utils.get_input_tensor_by_name(request, "TOKEN_EMBEDS_POST").as_numpy()
            mask = pb_utils.get_input_tensor_by_name(request, "ATTENTION_POST").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("SENT_EMBED", pool(embeddings, mask))]))
        return responses


def pool(embeddings, mask):
    """Unit vectors FP32 [batch, 384]. The lower bounds are those of sentence-transformers and of torch's normalize."""
    mask = mask.astype(np.float32)
    # A matrix product for each row reads every token vector once and makes no masked copy of them.
    total = np.matmul(mask[:, None, :], embeddings)[:, 0, :]
    mean = total / np.maximum(mask.sum(axis=1, keepdims=True), 1e-9)
    return mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
