"""The memory of a fused ensemble after a large batch, on the real server with the real engines."""

from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as grpc
from onnx import TensorProto, helper

from tests.configs import in_a_row, tensors
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.places import borrowed
from tests.processes import wait_until
from tests.runtime.backends.networks import model_of
from triton_ensembles.building.build import build
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.building.request import BuildRequest
from triton_ensembles.ground.processes import descendants, memory_parts
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.targets import fused

pytestmark = pytest.mark.slow

WIDTH, ROWS, MIB = 1 << 18, 64, 1 << 20
TENSORS = f"max_batch_size: 64\n{tensors('X:FP32:1', 'Y:FP32:1')}"


def wide() -> bytes:
    """X (float32 [batch, 1]) -> Y (float32 [batch, 1]), its mean over columns that take 1 MiB for each row."""
    nodes = [
        helper.make_node("MatMul", ["X", "ones"], ["columns"]),
        helper.make_node("Tanh", ["columns"], ["bent"]),
        helper.make_node("ReduceMean", ["bent"], ["Y"], axes=[1]),
    ]
    given, answer = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 1]) for name in ("X", "Y"))
    return model_of(nodes, [given], [answer], {"ones": np.ones((1, WIDTH))})


def build_wide(backend: str, places: Places, folder: Path) -> Built:
    """The fused ensemble, built below ``folder`` with the project's store."""
    ensemble = folder / "ensembles" / "wide_rows"
    files: dict[str, str | bytes] = {
        "ensemble/config.pbtxt": in_a_row("wide") + TENSORS,
        "ensemble.toml": 'description = "Wide rows"\n',
        "wide/config.pbtxt": f'backend: "{backend}" default_model_filename: "model.onnx"\n{TENSORS}',
        "wide/1/model.onnx": wide(),
    }
    write_files(ensemble, files)
    return build(BuildRequest(ensemble, fused(), borrowed(places, folder, "store", ensembles=ensemble.parent)), print)


@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_what_a_large_batch_took_is_given_back(backend: str, places: Places, tmp_path: Path) -> None:
    """Otherwise a day's worst request decides for good how many ensembles fit."""
    built = build_wide(backend, places, tmp_path)
    with TritonServer([built.repository], log=tmp_path / "log") as server:
        client = grpc.InferenceServerClient(server.grpc_url)

        def memory() -> int:
            return memory_parts(descendants(server.pid))[0]  # anonymous: others use the same files, too

        def ask(rows: int) -> None:
            answer = infer(client, built.name, {"X": np.full((rows, 1), 0.5, np.float32)})["Y"]
            np.testing.assert_allclose(answer, np.full((rows, 1), np.tanh(0.5)), rtol=1e-3)

        ask(1)
        before = memory()
        wait_until(lambda: ask(ROWS) or memory() > before + ROWS * MIB)  # seen in the second before it is given back
        wait_until(lambda: memory() < before + ROWS * MIB / 2)
        ask(1)
        ask(ROWS)
