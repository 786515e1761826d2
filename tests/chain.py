"""A small ensemble of two Python steps, with an example request: X, three numbers, becomes Y, which is X + 2."""

import json
from pathlib import Path

from tests.configs import in_a_row, tensors
from tests.files import write_files
from tests.places import built_by
from triton_ensembles.building.built import Built
from triton_ensembles.building.places import Places
from triton_ensembles.triton.targets import fused

NAME = "chain"
STEPS = ["first", "second"]
SLEEPS_MS = {"first": 2.0, "second": 10.0}
"""How long each execution of a step takes at least."""

_TENSORS = f"max_batch_size: 8\n{tensors('X:FP32:3', 'Y:FP32:3')}"
_MODEL = """import time

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(SECONDS)
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", x + 1)])
"""
_REQUEST = {"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 3], "data": [[1, 2, 3]]}]}


def write_chain(project: Path, instances: int = 1) -> None:
    """Write the source of the ensemble into ``project/ensembles``, with so many instances of each step."""
    folder = project / "ensembles" / NAME
    files = {
        "ensemble/config.pbtxt": in_a_row(*STEPS) + _TENSORS,
        "ensemble/examples/one_row.json": json.dumps(_REQUEST),
        "ensemble.toml": 'description = "Three numbers, plus two"\n',
    }
    group = f"instance_group [ {{ count: {instances} kind: KIND_CPU }} ]"
    for step, milliseconds in SLEEPS_MS.items():
        files[f"{step}/config.pbtxt"] = f'backend: "python"\n{_TENSORS}dynamic_batching {{ }}\n{group}\n'
        files[f"{step}/1/model.py"] = _MODEL.replace("SECONDS", str(milliseconds / 1000))
    write_files(folder, files)


def build_fused_chain(project: Path, store: Path, instances: int = 1) -> Built:
    """The fused chain in the folder ``project``. ``store``: where what is made once is kept."""
    write_chain(project, instances)
    (project / "build").mkdir()
    store.mkdir(parents=True, exist_ok=True)
    (project / "build" / "store").symlink_to(store.resolve())
    return built_by(Places.of(project), NAME, fused())
