"""Sentences to token ids: the tokenizer of the model, without a deep-learning framework.

INPUT0   BYTES [batch, 1]        one UTF-8 text a row
OUTPUT0  INT32 [batch, tokens]   token ids
OUTPUT1  INT32 [batch, tokens]   attention mask, 1 for a token and 0 for padding
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers import Tokenizer


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        parameters = json.loads(args["model_config"]).get("parameters", {})
        # The tokenizer.json of all-MiniLM-L6-v2 cuts at 128 tokens and pads everything to 128 unless told otherwise.
        # sentence-transformers cuts at max_seq_length of sentence_bert_config.json.
        limit = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
        wanted = int(parameters.get("max_tokens", {}).get("string_value", limit))
        if not 2 <= wanted <= limit:
            raise pb_utils.TritonModelException(f"max_tokens is {wanted}, but the model takes 2 to {limit} tokens")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(wanted)
        self.multiple = int(parameters.get("pad_to", {}).get("string_value", 1))
        if not 1 <= self.multiple <= limit or limit % self.multiple:
            raise pb_utils.TritonModelException(f"pad_to is {self.multiple}, but must divide {limit}")

    def execute(self, requests):
        texts: list[str] = []
        slices, errors = [], {}
        for number, request in enumerate(requests):
            start = len(texts)
            try:
                texts += decode(pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy())
            except ValueError as error:
                errors[number] = error
            slices.append(slice(start, len(texts)))

        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]
        return [
            failed(errors[number]) if number in errors else padded(tokens[part], self.multiple)
            for number, part in enumerate(slices)
        ]


def decode(rows):
    """The texts of one request. Raises ValueError that names the row which is not UTF-8."""
    texts = []
    for number, row in enumerate(rows.reshape(-1)):
        try:
            texts.append(row.decode("utf-8"))
        except UnicodeDecodeError as error:
            reason = f"{error.reason} at byte {error.start}"
            raise ValueError(f"row {number} of INPUT0 is not valid UTF-8: {reason}") from None
    return texts


def padded(rows, multiple):
    """Every row as long as the longest of its request, and that a multiple of ``multiple``."""
    width = -(-max(map(len, rows)) // multiple) * multiple
    ids = np.zeros((len(rows), width), np.int32)  # [PAD] is token 0
    mask = np.zeros((len(rows), width), np.int32)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", ids), pb_utils.Tensor("OUTPUT1", mask)])


def failed(error):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG))
