"""Packages of AOTInductor in the real server, compiled by the tests with a C++ compiler."""

import re
import shutil
import warnings

import numpy as np
import pytest
import torch
import tritonclient.grpc as triton

from tests.runtime.backends.conftest import Array, ModelServer
from tests.runtime.backends.embedding import parameter

NO_COMPILER = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")),
    reason="NO C++ COMPILER: packages of AOTInductor are not tested here (apt-get install g++)",
)
pytestmark = [pytest.mark.slow, NO_COMPILER]


class Layer(torch.nn.Module):
    """x [batch, 4], {"scale": [batch, 3]} -> relu(W x + b) * scale [batch, 3], and -x."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, options: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(self.layer(x)) * options["scale"], -x


@pytest.fixture(scope="module")
def layer() -> Layer:
    torch.manual_seed(0)
    return Layer().eval()


@pytest.fixture(scope="module")
def package(layer: Layer, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Compiled for batches of 1 to 16: half a minute."""
    file = tmp_path_factory.mktemp("package") / "model.pt2"
    batch = torch.export.Dim("batch", min=1, max=16)
    examples = (torch.randn(2, 4), {"scale": torch.randn(2, 3)})
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(file.parent / "cache"))  # otherwise it stays in /tmp
        exported = torch.export.export(layer, examples, dynamic_shapes=({0: batch}, {"scale": {0: batch}}))
        torch._inductor.aoti_compile_and_package(exported, package_path=str(file))
    return file.read_bytes()


def config(name: str, scale: str = "SCALE__1", extra: str = "") -> str:
    return f"""name: "{name}" backend: "pytorch" max_batch_size: 16 default_model_filename: "model.pt2"
    input [ {{ name: "{scale}" data_type: TYPE_FP32 dims: [ 3 ] }},
            {{ name: "X__0" data_type: TYPE_FP32 dims: [ -1 ] }} ]
    output [ {{ name: "LAYER__0" data_type: TYPE_FP32 dims: [ 3 ] }},
             {{ name: "MINUS__1" data_type: TYPE_FP32 dims: [ -1 ] }} ]
    instance_group [ {{ count: 1 kind: KIND_CPU }} ]
    dynamic_batching {{ max_queue_delay_microseconds: 300000 }} {extra}"""


def given(seed: int, rows: int, width: int = 4) -> dict[str, Array]:
    generator = np.random.default_rng(seed)
    shapes = {"X__0": (rows, width), "SCALE__1": (rows, 3)}
    return {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def test_answers_are_those_of_torch(model_server: ModelServer, layer: Layer, package: bytes) -> None:
    """Otherwise the server would mix up a package's tensors, which have no names, or the clients of a batch; and users
    would expect an effect of parameters for TorchScript that a compiled package cannot have."""
    extra = parameter("ENABLE_JIT_PROFILING", "true") + parameter("INFERENCE_MODE", "false")
    model_server.load("layer", config("layer", extra=extra), {"1/model.pt2": package})
    requests = [given(seed, rows=1 + seed % 3) for seed in range(6)]
    answers = model_server.infer_together("layer", ["LAYER__0", "MINUS__1"], requests, more_than=3)
    for request, answer in zip(requests, answers, strict=True):
        with torch.no_grad():
            expected, _ = layer(torch.from_numpy(request["X__0"]), {"scale": torch.from_numpy(request["SCALE__1"])})
        np.testing.assert_allclose(answer["LAYER__0"], expected.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(answer["MINUS__1"], -request["X__0"])
    # Otherwise compiled code would read beyond the end of a client's tensor.
    with pytest.raises(triton.InferenceServerException, match=r"unmatched dim value at 1, expected: 4, but got: 7"):
        model_server.infer("layer", ["LAYER__0"], **given(1, 2, width=7))
    assert model_server.infer("layer", ["LAYER__0"], **given(1, 2))["LAYER__0"].shape == (2, 3)
    assert model_server.said(r"layer: parameter (\S+) has no effect") == ["ENABLE_JIT_PROFILING"]


def test_wrong_configs_and_files_are_refused_at_load(model_server: ModelServer, package: bytes) -> None:
    """Otherwise a fault of the config would show with the first request, or not at all."""
    for text, content, message in (
        (config("bad", "SCALE__2"), package, r"inputs SCALE__2, X__0 are arguments 2, 0 of the model's forward"),
        (config("bad").replace("MINUS__1", "MINUS__2"), package, r'output "MINUS__2" is output 2, but the model has 2'),
        (config("bad"), b"not a package", r"torch 2\S+ cannot load model\.pt2 as a package of AOTInductor: \S+"),
    ):
        assert re.search(message, model_server.refusal(text, {"1/model.pt2": content}))
