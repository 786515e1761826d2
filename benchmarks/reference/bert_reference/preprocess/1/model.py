"""Sentences to token ids with transformers' tokenizer, every sentence padded to 128 tokens.

INPUT0   BYTES [batch, 1]     one UTF-8 text per row
OUTPUT0  INT32 [batch, 128]   token ids
OUTPUT1  INT32 [batch, 128]   attention mask
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        # check: ignore[import-missing] its environment is added after the build (benchmarks/reference/build.py)
        from transformers import AutoTokenizer

        folder = Path(args["model_repository"]) / args["model_version"] / "tokenizer"
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        config = json.loads(args["model_config"])
        self.types = [
            pb_utils.triton_string_to_numpy(pb_utils.get_output_config_by_name(config, name)["data_type"])
            for name in ("OUTPUT0", "OUTPUT1")
        ]

    def execute(self, requests):
        responses = []
        for request in requests:
            rows = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            texts = [row[0].decode() for row in rows]
            tokens = self.tokenizer(texts, padding="max_length", max_length=128, truncation=True)
            ids = np.array(tokens["input_ids"], dtype=self.types[0])
            mask = np.array(tokens["attention_mask"], dtype=self.types[1])
            outputs = [pb_utils.Tensor("OUTPUT0", ids), pb_utils.Tensor("OUTPUT1", mask)]
            responses.append(pb_utils.InferenceResponse(output_tensors=outputs))
        return responses
