"""What clients of the ensembles do: photographs as they are sent, and requests over KServe v2 with tritonclient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tritonclient.http as http

from checkout import ENSEMBLES
from triton_ensembles.examples.place import examples_folder
from triton_ensembles.examples.tensor import pixels

PHOTOGRAPHS = sorted(examples_folder(ENSEMBLES / "dali_inception").glob("*.jpg"))


def imagenet_pixels(image: bytes) -> npt.NDArray[np.float32]:
    """An encoded image as resnet_pytorch takes it, FP32 [3, 224, 224]."""
    return pixels(image, height=224, width=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def embed(client: http.InferenceServerClient, texts: Sequence[str], model: str = "bert_trt") -> npt.NDArray[np.float32]:
    """Unit vectors FP32 [len(texts), 384]. Raises tritonclient's InferenceServerException with the server's reason."""
    rows = http.InferInput("INPUT0", [len(texts), 1], "BYTES")
    rows.set_data_from_numpy(np.array([[text.encode("utf-8")] for text in texts], dtype=np.object_))
    vectors: npt.NDArray[np.float32] = client.infer(model, [rows]).as_numpy("finaloutput")
    return vectors


def classify(
    client: http.InferenceServerClient, image: bytes, top: int = 3, model: str = "dali_inception"
) -> list[tuple[float, int, str]]:
    """The best ``top`` classes of one encoded image: (probability, class index, label), best first.

    This is Triton's classification extension: the server sorts and adds the label.
    """
    encoded = http.InferInput("INPUT", [1, len(image)], "UINT8")
    encoded.set_data_from_numpy(np.frombuffer(image, np.uint8)[None, :])
    return _best(client, model, encoded, "OUTPUT", top)


def classify_pixels(
    client: http.InferenceServerClient, image: npt.NDArray[np.float32], top: int = 3, model: str = "resnet_pytorch"
) -> list[tuple[float, int, str]]:
    """The best ``top`` classes of FP32 [3, 224, 224]: (logit, class index, label)."""
    tensor = http.InferInput("INPUT__0", [1, *image.shape], "FP32")
    tensor.set_data_from_numpy(image[None])
    return _best(client, model, tensor, "OUTPUT__0", top)


def _best(
    client: http.InferenceServerClient, model: str, tensor: http.InferInput, output: str, top: int
) -> list[tuple[float, int, str]]:
    wanted = http.InferRequestedOutput(output, class_count=top)
    rows = client.infer(model, [tensor], outputs=[wanted]).as_numpy(output)[0]
    fields = [row.decode("utf-8").split(":", 2) for row in rows]
    return [(float(value), int(index), label) for value, index, label in fields]
