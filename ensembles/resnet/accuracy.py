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
from triton_ensembles.artifacts.accuracy import Floats, batches, outputs
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.examples.tensor import pixels

INPUT, OUTPUT, SIDE = "input", "output", 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def main(model: str, job: str) -> None:
    import onnxruntime

    precision, inputs = json.loads(Path(job).read_text(encoding="utf-8"))["precision"], feeds({})
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    reference = [session.run([OUTPUT], dict(feed))[0] for feed in inputs]
    try:
        print(json.dumps(judge(outputs(Path(model), precision, inputs, OUTPUT), reference)))
    except EnsembleError as error:
        sys.exit(str(error))


def feeds(_files: Mapping[str, Path], sizes: Sequence[int] = ()) -> list[dict[str, Floats]]:
    """The photographs, FP32 [batch, 3, 224, 224]: one batch of each of ``sizes``, or one for each photograph."""
    views = [pixels(view, height=SIDE, width=SIDE, mean=MEAN, std=DEVIATION) for view in photographs.encoded_views()]
    return [{INPUT: np.stack(batch)} for batch in batches(views, sizes)]


def judge(logits: Sequence[Floats], reference: Sequence[Floats], _inputs: object = None) -> Facts:
    """Compare logits [batch, classes]. Raises :class:`EnsembleError` when the probabilities differ too much."""
    return photographs.judge([*map(_softmax, logits)], [*map(_softmax, reference)])


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities: Floats = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return probabilities


if __name__ == "__main__":
    main(*sys.argv[1:])
