"""Warm-up requests of a step reach it in a fused ensemble as they do in the drawn one."""

from pathlib import Path

import numpy as np

from tests.configs import ON_CPU, in_a_row, tensors
from tests.ensembles.clients import infer
from tests.files import write_files
from tests.runtime.fused.forms import both_forms

TENSORS = f"max_batch_size: 4\n{tensors('X:FP32:2', 'Y:STRING:1')}"
SAMPLE = '{ name: "a" %s inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] %s } } }'
SAMPLES = [SAMPLE % ("batch_size: 3", 'input_data_file: "two"'), SAMPLE % ("batch_size: 1 count: 2", "zero_data: true")]
STEP = """import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    seen = []

    def execute(self, requests):
        arrays = [pb_utils.get_input_tensor_by_name(request, "X").as_numpy() for request in requests]
        self.seen.append([(request.request_id(), array.tolist()) for request, array in zip(requests, arrays)])
        said = np.array([[str(self.seen).encode()]], dtype=object)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", said)]) for _ in requests]
"""


def test_a_step_sees_the_same_warm_ups(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "ensemble.toml": 'description = "Warm-ups"\n',
        "ensemble/config.pbtxt": in_a_row("seen") + TENSORS,
        "seen/config.pbtxt": f'backend: "python"\n{TENSORS}{ON_CPU}model_warmup [ {", ".join(SAMPLES)} ]\n',
        "seen/1/model.py": STEP,
        "seen/warmup/two": np.array([1, 2], np.float32).tobytes(),
    }
    with both_forms(write_files(tmp_path / "written" / "warm", files), tmp_path) as clients:
        asked = {"X": np.full((1, 2), 7, np.float32)}
        drawn, fused = (
            infer(client, "warm", asked, request_id="real")["Y"].item().decode() for client in clients.values()
        )
    assert fused == drawn
    assert drawn.count("[1.0, 2.0]") == 3 and drawn.count("[0.0, 0.0]") == 2
