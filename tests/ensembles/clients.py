"""What clients of the ensembles do: photographs as they are sent, and requests over KServe v2 with tritonclient."""

import io
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tritonclient.grpc as grpc
import tritonclient.http as http
from PIL import Image
from tritonclient.utils import np_to_triton_dtype

from checkout import ENSEMBLES
from triton_ensembles.project.examples.place import examples_folder

Array = npt.NDArray[Any]
PHOTOGRAPHS = sorted(examples_folder(ENSEMBLES / "dali_inception").glob("*.jpg"))


def rows(images: Sequence[bytes]) -> Array:
    """Images of different lengths in one request: the shorter ones end in zeros."""
    batch = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(batch, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return batch


def infer(client: Any, model: str, inputs: Mapping[str, Array], **options: Any) -> dict[str, Array]:
    """The output tensors by name, over HTTP or gRPC; ``options`` are those of tritonclient's ``infer``. Raises its
    InferenceServerException."""
    module = http if isinstance(client, http.InferenceServerClient) else grpc
    tensors = []
    for name, array in inputs.items():
        tensor = module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
        tensors.append(tensor.set_data_from_numpy(np.ascontiguousarray(array)))
    result = client.infer(model, tensors, **options)
    answer = result.get_response()
    names = [each["name"] for each in answer["outputs"]] if module is http else [each.name for each in answer.outputs]
    return {name: result.as_numpy(name) for name in names}


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    """The file of a picture."""
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def png(width: int, height: int, lines: bytes) -> bytes:
    """A PNG in RGB, as Pillow does not write it."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks
    )


SIDEWAYS = Image.Exif()  # as a camera that was turned has it
SIDEWAYS[0x0112] = 6
SHOTS = {path.stem: path.read_bytes() for path in PHOTOGRAPHS} | {
    "turned": saved(Image.open(PHOTOGRAPHS[0]), "JPEG", quality=90, exif=SIDEWAYS),
    "small": saved(Image.open(PHOTOGRAPHS[1]).resize((97, 61)), "JPEG", quality=90),
}


def embed(client: http.InferenceServerClient, texts: Sequence[str], model: str = "bert_trt") -> npt.NDArray[np.float32]:
    """Unit vectors FP32 [len(texts), 384]. Raises tritonclient's InferenceServerException with the server's reason."""
    vectors: npt.NDArray[np.float32] = infer(client, model, {"INPUT0": text_rows(texts)})["finaloutput"]
    return vectors


def text_rows(texts: Sequence[str]) -> Array:
    """Texts as bert_trt takes them, BYTES [len(texts), 1]."""
    return np.array([[text.encode()] for text in texts], dtype=np.object_)
