"""Is a sentence encoder in a lower precision still the same encoder? Real sentences, tokenised as the ensemble does.

Compared are the sentences' embeddings, masked mean and unit length, because those are what a client gets.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.accuracy import least_cosine, outputs
from triton_ensembles.paths import ROOT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOOLS = ("openvino", "tokenizers")
READS = ("triton_ensembles/artifacts/accuracy.py", "triton_ensembles/perf/sentences.txt")


def make(job: Job) -> Facts:
    assert job.file is not None, "the model to measure is named"
    lines = (ROOT / READS[-1]).read_text(encoding="utf-8").splitlines()
    sentences = [line for line in lines if line and not line.startswith("#")]
    inputs = tokenized(sentences, job.files["tokenizer.json"])
    embeddings = {
        precision: embedded(outputs(job.files[job.file], precision, inputs, "output"))
        for precision in ("fp32", str(job.options["precision"]))
    }
    least = least_cosine(embeddings[str(job.options["precision"])], embeddings["fp32"])
    facts: Facts = {"least_cosine_to_fp32": least, "sentences": len(sentences)}
    job.output.write_text(json.dumps(facts))
    return facts


def tokenized(sentences: list[str], tokenizer: Path) -> list[dict[str, NDArray[np.int32]]]:
    """One feed a sentence, without padding."""
    import numpy as np
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    loaded.no_padding()
    rows = [np.array([encoding.ids], np.int32) for encoding in loaded.encode_batch(sentences)]
    return [{"token_ids": row, "attn_mask": np.ones_like(row)} for row in rows]


def embedded(hidden: list[NDArray[Any]]) -> NDArray[np.float32]:
    """Hidden states [1, tokens, size] of each sentence -> unit vectors [sentences, size]."""
    import numpy as np

    means = np.concatenate([states.mean(axis=1) for states in hidden])
    vectors: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors
