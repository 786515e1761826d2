"""The accuracy of ResNet-50 as an engine computes it: ``python ensembles/resnet/accuracy.py MODEL JOB``.

Real photographs are preprocessed as torchvision's networks expect. The probabilities of OpenVINO in the engine's
precision are compared with those of ONNX Runtime in fp32. TensorRT's plans are compared by the same functions.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from triton_ensembles.artifacts import Facts
from triton_ensembles.artifacts import accuracy_on_photographs as photographs
from triton_ensembles.artifacts.accuracy import LEAST, Floats, Least, batches, outputs
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.tensor import pixels

INPUT, OUTPUT, SIDE = "input", "output", 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main(model: str, job: str) -> None:
    import onnxruntime

    arguments, inputs = json.loads(Path(job).read_text(encoding="utf-8")), feeds({})
    precision = arguments["precision"]
    fp32 = arguments["files"].get("model.onnx", model)  # of a model in int8, the one that it is made from
    session = onnxruntime.InferenceSession(fp32, providers=["CPUExecutionProvider"])
    reference = [session.run([OUTPUT], dict(feed))[0] for feed in inputs]
    try:
        least = LEAST["int8" if precision == "int8" else "bf16"]
        print(json.dumps(judge(outputs(Path(model), precision, inputs, OUTPUT), reference, least=least)))
    except EnsembleError as error:
        sys.exit(str(error))


def feeds(_files: Mapping[str, Path], sizes: Sequence[int] = ()) -> list[dict[str, Floats]]:
    """The photographs, FP32 [batch, 3, 224, 224]: one batch of each of ``sizes``, or one for each photograph."""
    return [{INPUT: np.stack(batch)} for batch in batches([*map(preprocessed, photographs.encoded_views())], sizes)]


def preprocessed(view: bytes) -> Floats:
    """An encoded image as FP32 [3, 224, 224]."""
    return pixels(view, height=SIDE, width=SIDE, mean=MEAN, std=DEVIATION)


def judge(
    logits: Sequence[Floats], reference: Sequence[Floats], _inputs: object = None, least: Least = LEAST["bf16"]
) -> Facts:
    """Compare logits [batch, classes]. Raises :class:`EnsembleError` when the probabilities differ too much."""
    return photographs.judge([*map(_softmax, logits)], [*map(_softmax, reference)], least=least)


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Floats = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return probabilities


if __name__ == "__main__":
    main(*sys.argv[1:])
