"""Texts with one [MASK] for BERT in int8: half of them for the ranges of its activations, half for its accuracy.

``python ensembles/bert_base/texts.py MODEL JOB`` measures the accuracy: the likeliest word for each [MASK], against
fp32. Each is a sentence of the Python documentation with a word masked.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

from triton_ensembles.artifacts import accuracy_on_photographs as classes
from triton_ensembles.artifacts.accuracy import LEAST, compared, outputs
from triton_ensembles.artifacts.accuracy_on_sentences import texts_in
from triton_ensembles.ground.errors import EnsembleError

MASK, OUTPUT = "[MASK]", "output"
TEXTS = Path(__file__).parents[2] / "pipelines" / "sentences.txt"

Feed = dict[str, NDArray[np.int32]]


def feeds(files: Mapping[str, Path]) -> list[Feed]:
    """Those for calibration: token_ids and attn_mask, INT32 [1, tokens]."""
    return _tokenized(files["vocab.txt"], texts_in(TEXTS)[::2])


def main(model: str, job: str) -> None:
    arguments = json.loads(Path(job).read_text(encoding="utf-8"))
    files, precision = {name: Path(path) for name, path in arguments["files"].items()}, arguments["precision"]
    inputs = _tokenized(files["vocab.txt"], texts_in(TEXTS)[1::2])
    reference = np.concatenate(outputs(files.get("model.onnx", Path(model)), "fp32", inputs, OUTPUT))
    logits = np.concatenate(outputs(Path(model), precision, inputs, OUTPUT))
    try:
        kept = {"classes_kept": classes.classes_kept(*map(_probabilities, (logits, reference)))}
        print(json.dumps(compared(logits, reference, kept, LEAST[precision]) | {"texts": len(inputs)}))
    except EnsembleError as error:
        sys.exit(str(error))


def _tokenized(vocabulary: Path, texts: list[str]) -> list[Feed]:
    """Each text with the word in its middle masked."""
    tokenizer, rows = BertWordPieceTokenizer(str(vocabulary), lowercase=True), []
    for text in texts:
        words = text.split()
        words[len(words) // 2] = MASK
        ids = np.array([tokenizer.encode(" ".join(words)).ids], np.int32)
        rows.append({"token_ids": ids, "attn_mask": np.ones_like(ids)})
    return rows


def _probabilities(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: NDArray[np.float32] = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return probabilities


if __name__ == "__main__":
    main(*sys.argv[1:])
