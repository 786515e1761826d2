"""What clients of the ensembles do: photographs as they are sent, and requests over KServe v2 with tritonclient."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import requests
import tritonclient.grpc as grpc
import tritonclient.http as http
from PIL import Image
from tritonclient.utils import np_to_triton_dtype

from checkout import ENSEMBLES
from tests.triton.test_server import wait_until
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.project.examples.tensor import pixels
from triton_ensembles.triton.server import TritonServer

Array = npt.NDArray[Any]
PHOTOGRAPHS = sorted(examples_folder(ENSEMBLES / "dali_inception").glob("*.jpg"))


def rows(images: Sequence[bytes]) -> Array:
    """Images of different lengths in one request: the shorter ones end in zeros."""
    batch = np.zeros((len(images), max(map(len, images))), np.uint8)
    for row, image in zip(batch, images, strict=True):
        row[: len(image)] = np.frombuffer(image, np.uint8)
    return batch


def infer(client: Any, model: str, inputs: Mapping[str, Array], version: str = "") -> dict[str, Array]:
    """The output tensors by name, over HTTP or gRPC. Raises tritonclient's InferenceServerException."""
    module = http if isinstance(client, http.InferenceServerClient) else grpc
    tensors = [
        module.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)) for name, array in inputs.items()
    ]
    for tensor, array in zip(tensors, inputs.values(), strict=True):
        tensor.set_data_from_numpy(np.ascontiguousarray(array))
    result = client.infer(model, tensors, model_version=version)
    outputs = result.get_response()["outputs"] if module is http else result.get_response(as_json=True)["outputs"]
    return {output["name"]: result.as_numpy(output["name"]) for output in outputs}


def answers_each_way(
    server: TritonServer, model: str, name: str, array: Array, *, with_json: bool = True
) -> dict[str, Array]:
    """The model's only output over HTTP in binary, over gRPC, and over HTTP in JSON."""
    with (
        http.InferenceServerClient(server.http_url, network_timeout=120, connection_timeout=120) as over_http,
        grpc.InferenceServerClient(server.grpc_url) as over_grpc,
    ):
        clients = {"http": over_http, "grpc": over_grpc}
        answers = {way: next(iter(infer(client, model, {name: array}).values())) for way, client in clients.items()}
    if with_json:
        texts = array.dtype == np.object_
        data = [text.decode() for text in array.ravel()] if texts else array.tolist()
        tensor = {"name": name, "shape": array.shape, "datatype": np_to_triton_dtype(array.dtype), "data": data}
        url = f"http://{server.http_url}/v2/models/{model}/infer"
        (output,) = requests.post(url, json={"inputs": [tensor]}, timeout=300).json()["outputs"]
        answers["json"] = np.array(output["data"]).reshape(output["shape"])
    return answers


def executions(server: TritonServer, model: str, count: int, send: Callable[[], object]) -> int:
    """In how many executions the model answers the ``count`` rows that ``send`` sends."""
    with grpc.InferenceServerClient(server.grpc_url) as client:

        def counts() -> tuple[int, int]:
            (stats,) = client.get_inference_statistics(model).model_stats
            return stats.inference_count, stats.execution_count

        before = counts()
        send()
        wait_until(lambda: counts()[0] - before[0] == count)  # Triton counts an execution after its answers
        return counts()[1] - before[1]


def saved(picture: Image.Image, kind: str, **options: Any) -> bytes:
    """The file of a picture."""
    stream = io.BytesIO()
    picture.save(stream, kind, **options)
    return stream.getvalue()


def png(width: int, height: int, lines: bytes, *, bits: int = 8, interlaced: bool = False) -> bytes:
    """A PNG in RGB, as Pillow does not write it."""
    head = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, interlaced)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks
    )


def shots() -> dict[str, bytes]:
    """The photographs, upright and lying on their side by their EXIF orientation, and one of odd and small sides."""
    images = {path.stem: path.read_bytes() for path in PHOTOGRAPHS}
    exif = Image.Exif()
    exif[0x0112] = 6
    turned, small = Image.open(PHOTOGRAPHS[0]), Image.open(PHOTOGRAPHS[1]).resize((97, 61))
    images["turned"] = saved(turned, "JPEG", quality=90, exif=exif)
    images["small"] = saved(small, "JPEG", quality=90)
    return images


SHOTS = shots()


def imagenet_pixels(image: bytes) -> npt.NDArray[np.float32]:
    """An encoded image as resnet_pytorch takes it, FP32 [3, 224, 224]."""
    return pixels(image, height=224, width=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


def embed(client: http.InferenceServerClient, texts: Sequence[str], model: str = "bert_trt") -> npt.NDArray[np.float32]:
    """Unit vectors FP32 [len(texts), 384]. Raises tritonclient's InferenceServerException with the server's reason."""
    vectors: npt.NDArray[np.float32] = infer(client, model, {"INPUT0": text_rows(texts)})["finaloutput"]
    return vectors


def text_rows(texts: Sequence[str]) -> Array:
    """Texts as bert_trt takes them, BYTES [len(texts), 1]."""
    return np.array([[text.encode()] for text in texts], dtype=np.object_)


def classify(
    client: http.InferenceServerClient, model: str, name: str, row: Array, output: str
) -> list[tuple[int, str]]:
    """The best five classes of one row: (class index, label), best first.

    This is Triton's classification extension: the server sorts and adds the label.
    """
    tensor = http.InferInput(name, [1, *row.shape], np_to_triton_dtype(row.dtype)).set_data_from_numpy(row[None])
    classification = http.InferRequestedOutput(output, class_count=5)
    answers = client.infer(model, [tensor], outputs=[classification]).as_numpy(output)[0]
    fields = [answer.decode().split(":", 2) for answer in answers]
    return [(int(index), label) for _, index, label in fields]
