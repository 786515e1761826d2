"""Texts with one [MASK] to token ids: WordPiece with BERT's vocabulary, without a deep-learning framework.

TEXT            BYTES [batch, 1]        one UTF-8 text a row
TOKEN_IDS       INT32 [batch, tokens]   as many as the longest row of the request has
ATTENTION_MASK  INT32 [batch, tokens]   1 for a token and 0 for padding
"""

from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers.implementations import BertWordPieceTokenizer

MASK = "[MASK]"
LIMIT = 512  # tokens: BERT has no places for more


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        self.tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
        mask = self.tokenizer.token_to_id(MASK)
        if mask is None:
            raise pb_utils.TritonModelException(f"vocab.txt has no {MASK}")
        self.mask = mask

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "TEXT").as_numpy().reshape(-1)
        try:
            rows = [self.tokenized(number, text) for number, text in enumerate(texts)]
        except ValueError as error:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG))
        ids = np.zeros((len(rows), max(map(len, rows))), np.int32)  # [PAD] is token 0
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)], mask[number, : len(row)] = row, 1
        return pb_utils.InferenceResponse([pb_utils.Tensor("TOKEN_IDS", ids), pb_utils.Tensor("ATTENTION_MASK", mask)])

    def tokenized(self, number, text):
        """The ids of one text. Raises ValueError that names the row which cannot be used."""
        try:
            ids = self.tokenizer.encode(text.decode("utf-8")).ids
        except UnicodeDecodeError as error:
            raise ValueError(f"row {number} of TEXT is not valid UTF-8: {error.reason} at byte {error.start}") from None
        if ids.count(self.mask) != 1:
            raise ValueError(f"row {number} of TEXT has {ids.count(self.mask)} times {MASK}, and must have it once")
        if len(ids) > LIMIT:
            raise ValueError(f"row {number} of TEXT has {len(ids)} tokens, and BERT takes {LIMIT}")
        return ids
