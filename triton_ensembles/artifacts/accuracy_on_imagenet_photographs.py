"""The accuracy of a classifier of ImageNet's 224 x 224 pixels in a lower precision, on real photographs.

The photographs are preprocessed as torchvision's networks expect. The probabilities are compared as for Inception's.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts import accuracy_on_photographs as photographs
from triton_ensembles.artifacts.accuracy import Floats, batches, outputs
from triton_ensembles.examples.tensor import pixels

TOOLS = photographs.TOOLS
READS = ("artifacts/accuracy.py", "artifacts/accuracy_on_photographs.py", "examples/tensor.py")

INPUT, OUTPUT, SIDE = "input", "output", 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make(job: Job) -> Facts:
    model, inputs = job.source_file(), feeds(job.files)
    lower, fp32 = (outputs(model, precision, inputs, OUTPUT) for precision in (str(job.options["precision"]), "fp32"))
    facts = judge(lower, fp32)
    job.output.write_text(json.dumps(facts))
    return facts


def feeds(_files: Mapping[str, Path], sizes: Sequence[int] = ()) -> list[dict[str, Floats]]:
    """The photographs, FP32 [batch, 3, 224, 224]: one batch of each of ``sizes``, or one for each photograph."""
    views = [pixels(view, height=SIDE, width=SIDE, mean=MEAN, std=DEVIATION) for view in photographs.encoded_views()]
    return [{INPUT: np.stack(batch)} for batch in batches(views, sizes)]


def judge(found: Sequence[Floats], reference: Sequence[Floats], _inputs: object = None) -> Facts:
    """Compare logits [batch, classes]. Raises :class:`EnsembleError` when the probabilities differ too much."""
    return photographs.judge(*([_softmax(logits) for logits in given] for given in (found, reference)))


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Floats = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return probabilities
