import json
import os
import re

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Words to ids, padded to the longest text of the request."""

    def initialize(self, args):
        self.model_config = json.loads(args["model_config"])
        self.max_length = int(self.model_config["parameters"]["max_length"]["string_value"])
        path = os.path.join(args["model_repository"], args["model_version"], "vocab.txt")
        with open(path, encoding="utf-8") as f:
            self.vocab = {word.strip(): i for i, word in enumerate(f)}
        ids_config = pb_utils.get_output_config_by_name(self.model_config, "input_ids")
        self.ids_dtype = pb_utils.triton_string_to_numpy(ids_config["data_type"])

    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "TEXTS").as_numpy()
            rows = [self.encode(text.decode("utf-8")) for text in texts.reshape(-1)]
            length = max(len(row) for row in rows)
            ids = np.zeros((len(rows), length), dtype=self.ids_dtype)
            mask = np.zeros((len(rows), length), dtype=np.int64)
            for i, row in enumerate(rows):
                ids[i, : len(row)] = row
                mask[i, : len(row)] = 1
            responses.append(
                pb_utils.InferenceResponse(
                    output_tensors=[pb_utils.Tensor("input_ids", ids), pb_utils.Tensor("attention_mask", mask)]
                )
            )
        return responses

    def encode(self, text):
        words = re.findall(r"[a-z]+", text.lower())[: self.max_length] or ["[UNK]"]
        return [self.vocab.get(word, self.vocab["[UNK]"]) for word in words]

    def finalize(self):
        print("Cleaning up...")
