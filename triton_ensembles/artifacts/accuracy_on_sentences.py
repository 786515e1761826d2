"""The accuracy of a sentence encoder in a lower precision, on real sentences, tokenized as in the ensemble.

The embeddings are compared (masked mean, unit length), because those are the ensemble's answers: their
cosines, and how many of the nearest neighbours of each stay.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.accuracy import LEAST, Least, batches, compared, measured
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import PACKAGE
from triton_ensembles.project.recipe.artifact_kinds import TEXTS

TOOLS = ("openvino", "onnxruntime", "tokenizers")
READS = ("artifacts/accuracy.py", "artifacts/sentences.txt")
OUTPUT = "output"
WIDTH = 8  # tokens: rows are padded to a multiple, as the gpu target's preprocess does
NEIGHBOURS = 10


def make(job: Job) -> Facts:
    own = job.options.get(TEXTS)
    texts = texts_in(job.root / str(own) if own else PACKAGE / READS[-1])
    if len(texts) <= NEIGHBOURS:
        cure = "the nearest ten of each are compared: give 100 texts or more"
        raise EnsembleError(f"{own} has {len(texts)} texts", cure=cure)
    return measured(job, [tokenized([text], job.files["tokenizer.json"]) for text in texts], OUTPUT, judge)


def feeds(files: Mapping[str, Path], sizes: Sequence[int] = ()) -> list[dict[str, NDArray[np.int32]]]:
    """The sentences, tokenized by ``files["tokenizer.json"]``: a batch of each of ``sizes``, or each sentence alone."""
    return [tokenized(batch, files["tokenizer.json"]) for batch in batches(texts_in(PACKAGE / READS[-1]), sizes)]


def texts_in(path: Path) -> list[str]:
    """The texts in a file, one a line, but for lines that begin with #. Raises :class:`EnsembleError`: it has none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EnsembleError(f"these texts cannot be read: {error}", path=path) from error
    texts = [line for line in lines if line.strip() and not line.startswith("#")]
    if not texts:
        raise EnsembleError("this file has no texts", path=path, cure="write one text a line")
    return texts


def judge(
    answers: Sequence[NDArray[Any]],
    reference: Sequence[NDArray[Any]],
    inputs: Sequence[Mapping[str, NDArray[Any]]],
    least: Least = LEAST["bf16"],
) -> Facts:
    """Compare hidden states [batch, tokens, size]. Raises :class:`EnsembleError` when the difference is too large."""
    masks = [feed["attn_mask"] for feed in inputs]
    vectors, references = [
        np.concatenate([embedded(states, mask) for states, mask in zip(hidden, masks, strict=True)])
        for hidden in (answers, reference)
    ]
    facts = compared(vectors, references, {"neighbours_kept": neighbours_kept(vectors, references)}, least)
    return facts | {"sentences": len(vectors)}


def neighbours_kept(vectors: NDArray[Any], references: NDArray[Any]) -> float:
    """The share of the ten nearest rows of each row of ``references``, unit vectors [rows, size], that are also among
    the ten nearest of the same row of ``vectors``. 1.0 for so few rows that each has all others."""
    count = min(NEIGHBOURS, len(vectors) - 1)
    if not count:
        return 1.0
    nearest = []
    for rows in (vectors, references):
        similar = rows @ rows.T
        np.fill_diagonal(similar, -np.inf)
        nearest.append(np.argsort(-similar, axis=1, kind="stable")[:, :count])
    shared = [len(set(near) & set(expected)) for near, expected in zip(*nearest, strict=True)]
    return float(np.mean(shared)) / count


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
