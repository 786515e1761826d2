"""A real tritonserver for each test module, and models written by the tests."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as triton
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_sample_images

from tests.triton.test_server import wait_until
from triton_ensembles.triton.server import TritonServer

Array = NDArray[Any]
Encode = Callable[..., Array]

_KSERVE_TYPES = {"float32": "FP32", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "object": "BYTES"}


@dataclass
class ModelServer:
    """A server in explicit mode over an empty repository: tests add models, load them and send requests."""

    repository: Path
    server: TritonServer
    client: triton.InferenceServerClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = triton.InferenceServerClient(self.server.grpc_url)  # usable from many threads

    def add(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        """Write a model; ``files`` are relative to its folder ("1/model.onnx")."""
        folder = self.repository / name
        (folder / "1").mkdir(parents=True, exist_ok=True)
        (folder / "config.pbtxt").write_text(config)
        for path, content in files.items():
            (folder / path).write_bytes(content)

    def load(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        self.add(name, config, files)
        self.client.load_model(name)

    def refusal(self, name: str, config: str, files: Mapping[str, bytes]) -> str:
        """Triton's reason for not loading the model."""
        with pytest.raises(triton.InferenceServerException) as caught:
            self.load(name, config, files)
        return str(caught.value)

    def infer(self, model: str, outputs: Sequence[str], **inputs: Array) -> dict[str, Array]:
        """Send arrays by input name; return the named outputs."""
        given = []
        for name, array in inputs.items():
            tensor = triton.InferInput(name, list(array.shape), _KSERVE_TYPES[array.dtype.name])
            tensor.set_data_from_numpy(array)
            given.append(tensor)
        asked = [triton.InferRequestedOutput(name) for name in outputs]
        result = self.client.infer(model, given, outputs=asked)
        assert sorted(output.name for output in result.get_response().outputs) == sorted(outputs)
        return {name: result.as_numpy(name) for name in outputs}

    def wait_for_a_batch(self, model: str, more_than: int) -> None:
        """Until an execution of the model has had more than so many rows: Triton counts it after its answers."""

        def largest() -> int:
            (stats,) = self.client.get_inference_statistics(model).model_stats
            return max((entry.batch_size for entry in stats.batch_stats), default=0)

        wait_until(lambda: largest() > more_than, seconds=60)


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    repository = tmp_path_factory.mktemp("repository")
    with TritonServer([repository], arguments=["--model-control-mode=explicit"]) as server:
        made = ModelServer(repository, server)
        yield made
        made.client.close()


@pytest.fixture(scope="session")
def photographs() -> list[Array]:
    """Two real photographs, uint8 [427, 640, 3]."""
    return list(load_sample_images().images)


@pytest.fixture(scope="session")
def encode() -> Encode:
    """A function from pixels (or a Pillow image) to the bytes of an image file, uint8 [n]."""

    def encoded(image: Array | Image.Image, kind: str = "JPEG", **options: Any) -> Array:
        buffer = io.BytesIO()
        (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
        return np.frombuffer(buffer.getvalue(), np.uint8)

    return encoded
