"""The echo of the floor: a Python model with the inputs and outputs of a fused ensemble that computes nothing.

It reads every request as the fused ensemble does, and answers with as many bytes. Config, batching and instances are
those of the fused ensemble, so that server and client have the same to do.
"""

import shutil
from pathlib import Path

from checkout import BUILD
from triton_ensembles.triton.model_config import CONFIG, DataType, format_config, read_config

FOLDER = BUILD / "bench" / "echo"
_MODEL = """import numpy as np
import triton_python_backend_utils as pb_utils

TYPE = pb_utils.triton_string_to_numpy({type!r})


class TritonPythonModel:
    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        rows = max(len(tensor.as_numpy()) for tensor in request.inputs())
        return pb_utils.InferenceResponse([pb_utils.Tensor({name!r}, np.zeros([rows, *{dims}], TYPE))])
"""


def write_echo(fused: Path) -> Path:
    """The model repository of the echo of the ensemble in the built repository ``fused``: one model, ``NAME_echo``."""
    config = read_config(fused / fused.name / CONFIG)
    (output,) = config.output
    name = config.name = f"{config.name}_echo"
    config.parameters.clear()
    repository = FOLDER / name
    shutil.rmtree(repository, ignore_errors=True)
    folder = repository / name / "1"
    folder.mkdir(parents=True)
    (folder.parent / CONFIG).write_text(format_config(config), encoding="utf-8")
    text = _MODEL.format(name=output.name, dims=list(output.dims), type=DataType.Name(output.data_type))
    (folder / "model.py").write_text(text, encoding="utf-8")
    return repository
