"""What clients of the ensembles do: photographs as they are sent, and requests over KServe v2 with tritonclient."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tritonclient.http as http
from PIL import Image

from checkout import ENSEMBLES
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.project.examples.tensor import pixels

Array = npt.NDArray[Any]
PHOTOGRAPHS = sorted(examples_folder(ENSEMBLES / "dali_inception").glob("*.jpg"))


def rows(images: Sequence[bytes]) -> Array:
    """Images of different lengths in one request: the shorter ones end in zeros."""
    batch = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(batch, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return batch


def infer(
    client: http.InferenceServerClient, model: str, inputs: Mapping[str, Array], version: str = ""
) -> dict[str, Array]:
    """The output tensors by name. Raises tritonclient's InferenceServerException with the server's reason."""
    datatypes = {"uint8": "UINT8", "float32": "FP32", "int32": "INT32", "object": "BYTES"}
    tensors = [http.InferInput(name, list(array.shape), datatypes[array.dtype.name]) for name, array in inputs.items()]
    for tensor, array in zip(tensors, inputs.values(), strict=True):
        tensor.set_data_from_numpy(np.ascontiguousarray(array))
    result = client.infer(model, tensors, model_version=version)
    return {output["name"]: result.as_numpy(output["name"]) for output in result.get_response()["outputs"]}


def shots() -> dict[str, bytes]:
    """The photographs, upright and lying on their side by their EXIF orientation, and one of odd and small sides."""
    images = {path.stem: path.read_bytes() for path in PHOTOGRAPHS}
    exif = Image.Exif()
    exif[0x0112] = 6
    turned, small = Image.open(PHOTOGRAPHS[0]), Image.open(PHOTOGRAPHS[1]).resize((97, 61))
    for name, picture, options in (("turned", turned, {"exif": exif}), ("small", small, {})):
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=90, **options)
        images[name] = stream.getvalue()
    return images


SHOTS = shots()


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
    classification = http.InferRequestedOutput(output, class_count=top)
    rows = client.infer(model, [tensor], outputs=[classification]).as_numpy(output)[0]
    fields = [row.decode("utf-8").split(":", 2) for row in rows]
    return [(float(value), int(index), label) for value, index, label in fields]
