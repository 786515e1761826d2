"""The accuracy of an image classifier in a lower precision, on real photographs.

They are preprocessed as Inception's networks expect. All probabilities are compared, and the first classes.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from triton_ensembles.artifacts import Facts, Job
from triton_ensembles.artifacts.accuracy import LEAST, Floats, Least, batches, compared, measured

TOOLS = ("openvino", "onnxruntime", "scikit-learn", "pillow")
READS = ("artifacts/accuracy.py",)

INPUT = "input"
SIDE = 299
OUTPUT = "InceptionV3/Predictions/Softmax"
# Probabilities that fp32 itself puts within 5 % of each other are a tie: their logits differ by 0.05, and bf16 keeps
# three digits of a logit of 5.
TIE = 0.95


def make(job: Job) -> Facts:
    # OpenVINO calls a GraphDef's tensors as TensorFlow does.
    end = ":0" if job.source_file().suffix == ".graphdef" else ""
    inputs = [{f"{INPUT}{end}": feed[INPUT]} for feed in feeds(job.files)]
    return measured(job, inputs, f"{OUTPUT}{end}", judge)


def feeds(_files: Mapping[str, Path], sizes: Sequence[int] = ()) -> list[dict[str, Floats]]:
    """The photographs, FP32 [batch, 299, 299, 3]: one batch of each of ``sizes``, or one batch for each photograph."""
    views = [pixels_of(image) for image in encoded_views()]
    return [{INPUT: np.stack(batch)} for batch in batches(views, sizes)]


def judge(
    probabilities: Sequence[Floats], reference: Sequence[Floats], _inputs: object = None, least: Least = LEAST["bf16"]
) -> Facts:
    """Compare probabilities [batch, classes]. Raises :class:`EnsembleError` when the difference is too large."""
    lower, fp32 = np.concatenate(probabilities), np.concatenate(reference)
    return compared(lower, fp32, {"classes_kept": classes_kept(lower, fp32)}, least) | {"photographs": len(fp32)}


def classes_kept(lower: Floats, fp32: Floats) -> float:
    """The share of rows of probabilities [rows, classes] whose first class is that of fp32, or in a tie with it."""
    chosen = lower.argmax(axis=1)
    return float((fp32[range(len(fp32)), chosen] >= TIE * fp32.max(axis=1)).mean())


def pixels_of(encoded: bytes) -> Floats:
    """An encoded image as FP32 [299, 299, 3] from -1 to 1, resized by a triangular filter, as DALI also resizes it."""
    from PIL import Image

    with Image.open(io.BytesIO(encoded)) as image:
        resized = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return np.asarray(resized, np.float32) / 127.5 - 1


def encoded_views() -> list[bytes]:
    """The two photographs that scikit-learn ships, their mirror images and their quarters, as PNG."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    views = []
    for pixels in load_sample_images().images:
        image = Image.fromarray(pixels)
        x, y = image.width // 2, image.height // 2
        views += [image, image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)]
        views += [image.crop((left, top, left + x, top + y)) for left in (0, x) for top in (0, y)]
    streams = [io.BytesIO() for _ in views]
    for view, stream in zip(views, streams, strict=True):
        view.save(stream, "PNG")
    return [stream.getvalue() for stream in streams]
