"""The accuracy of a sentence encoder in a lower precision, on real sentences, tokenized as in the ensemble.

The embeddings are compared (masked mean, unit length), because those are the ensemble's answers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.accuracy import batches, least_cosine, measured
from triton_ensembles.ground.paths import PACKAGE

TOOLS = ("openvino", "tokenizers")
READS = ("artifacts/accuracy.py", "artifacts/sentences.txt")
OUTPUT = "output"
WIDTH = 8  # tokens: rows are padded to a multiple, as the gpu target's preprocess does


def make(job: Job) -> Facts:
    return measured(job, feeds(job.files), OUTPUT, judge)


def feeds(files: Mapping[str, Path], sizes: Sequence[int] = ()) -> list[dict[str, NDArray[np.int32]]]:
    """The sentences, tokenized by ``files["tokenizer.json"]``: a batch of each of ``sizes``, or each sentence alone."""
    lines = (PACKAGE / READS[-1]).read_text(encoding="utf-8").splitlines()
    sentences = [line for line in lines if line and not line.startswith("#")]
    return [tokenized(batch, files["tokenizer.json"]) for batch in batches(sentences, sizes)]


def judge(
    answers: Sequence[NDArray[Any]], reference: Sequence[NDArray[Any]], inputs: Sequence[Mapping[str, NDArray[Any]]]
) -> Facts:
    """Compare hidden states [batch, tokens, size]. Raises :class:`EnsembleError` when the difference is too large."""
    masks = [feed["attn_mask"] for feed in inputs]
    vectors = [
        np.concatenate([embedded(states, mask) for states, mask in zip(hidden, masks, strict=True)])
        for hidden in (answers, reference)
    ]
    return {"least_cosine_to_fp32": least_cosine(*vectors), "sentences": len(vectors[0])}


def tokenized(sentences: Sequence[str], tokenizer: Path) -> dict[str, NDArray[np.int32]]:
    """token_ids and attn_mask, INT32 [sentences, tokens], padded to the longest sentence and to a multiple of WIDTH."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    loaded.enable_padding(pad_to_multiple_of=WIDTH)
    encodings = loaded.encode_batch(list(sentences))
    return {
        "token_ids": np.array([encoding.ids for encoding in encodings], np.int32),
        "attn_mask": np.array([encoding.attention_mask for encoding in encodings], np.int32),
    }


def embedded(hidden: NDArray[Any], mask: NDArray[Any]) -> NDArray[np.float32]:
    """Hidden states [batch, tokens, size] and their mask [batch, tokens] -> unit vectors [batch, size]."""
    total = (hidden * mask[:, :, None]).sum(axis=1)
    means = total / mask.sum(axis=1, keepdims=True)
    vectors: NDArray[np.float32] = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    return vectors
