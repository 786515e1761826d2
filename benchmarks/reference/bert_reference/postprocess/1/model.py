"""Token vectors to one unit vector per sentence with torch: masked mean, then L2 normalisation.

TOKEN_EMBEDS_POST  FP32  [batch, 128, 384]
ATTENTION_POST     INT32 [batch, 128]
SENT_EMBED         FP32  [batch, 384]
"""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        global torch
        # check: ignore[import-missing] its environment is added after the build (benchmarks/reference/build.py)
        import torch

        on_gpu = args["model_instance_kind"] == "GPU" and torch.cuda.is_available()
        self.device = torch.device(f"cuda:{args['model_instance_device_id']}" if on_gpu else "cpu")

    def execute(self, requests):
        responses = []
        for request in requests:
            embeddings = pb_utils.get_input_tensor_by_name(request, "TOKEN_EMBEDS_POST").as_numpy()
            mask = pb_utils.get_input_tensor_by_name(request, "ATTENTION_POST").as_numpy()
            pooled = mean_pooling(torch.tensor(embeddings, device=self.device), torch.tensor(mask, device=self.device))
            vectors = torch.nn.functional.normalize(pooled, p=2, dim=1)
            output = pb_utils.Tensor("SENT_EMBED", np.array(vectors.cpu(), dtype=np.float32))
            responses.append(pb_utils.InferenceResponse(output_tensors=[output]))
        return responses


def mean_pooling(embeddings, mask):
    expanded = mask.unsqueeze(-1).expand(embeddings.size()).float()
    return torch.sum(embeddings * expanded, 1) / torch.clamp(expanded.sum(1), min=1e-9)
