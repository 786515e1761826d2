"""Ensembles that are steps, and ensembles that a step calls, in the fused form."""

from pathlib import Path

import numpy as np
import tritonclient.grpc as grpc

from tests.ensembles.clients import infer
from tests.files import write_files
from tests.hosting.archives import CONFIG, ensemble, model
from tests.running import grpc_client, serving
from tests.runtime.fused.forms import both_forms, stage_fused_form
from triton_ensembles.server.triton_server import TritonServer

ROUTER = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X")
            called = pb_utils.InferenceRequest(
                model_name="small" if x.as_numpy()[0] < 10 else "large", requested_output_names=["Y"], inputs=[x]
            ).exec()
            if called.has_error():
                raise pb_utils.TritonModelException(called.error().message())
            answers.append(pb_utils.InferenceResponse([pb_utils.get_output_tensor_by_name(called, "Y")]))
        return answers
"""


def write(folder: Path, *, router: bool) -> None:
    files: dict[str, str | bytes] = {"ensemble.toml": 'description = "Ensembles in one another"\n'}
    for factor in (2, 3):
        files |= model(f"times{factor}", execute=f"x = x * {factor}")
    files |= ensemble("small", "times2", "times3")
    files |= ensemble("ensemble", "times2", "router" if router else "small")
    if router:
        files |= ensemble("large", "times2", "small")
        files |= {"router/config.pbtxt": CONFIG.format(name="router"), "router/1/model.py": ROUTER}
    write_files(folder, files)


def answer(client: grpc.InferenceServerClient, model: str, value: float) -> list[float]:
    return list(infer(client, model, {"X": np.array([value], np.float32)})["Y"])


def test_an_ensemble_that_is_a_step_answers_as_drawn(tmp_path: Path) -> None:
    """Otherwise whoever nests ensembles has to write one into the other."""
    write(tmp_path / "written" / "nested", router=False)
    with both_forms(tmp_path / "written" / "nested", tmp_path) as clients:
        assert [answer(client, "nested", 1) for client in clients.values()] == [[12], [12]]


def test_a_router_reaches_ensembles(tmp_path: Path) -> None:
    """Otherwise each language of a service needs an archive of its own."""
    write(tmp_path / "written" / "routed", router=True)
    stage_fused_form(tmp_path / "written" / "routed", tmp_path / "fused")
    with serving(TritonServer([tmp_path / "fused"])) as server, grpc_client(server) as client:
        assert [answer(client, "routed", value) for value in (1, 10)] == [[12], [240]]
