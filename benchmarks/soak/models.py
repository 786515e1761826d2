"""Small ensembles, of which each adds a constant of its own: an answer shows which of them gave it."""

from collections.abc import Iterator
from pathlib import Path

from triton_ensembles.archive.write import write_archive

VALUES = 4
_TENSORS = """
max_batch_size: 0
input [ { name: "IN" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""
_ENSEMBLE = """name: "{name}"
platform: "ensemble"{tensors}
ensemble_scheduling {{ step [ {{
  model_name: "{name}.add"
  model_version: -1
  input_map {{ key: "IN" value: "IN" }}
  output_map {{ key: "OUT" value: "OUT" }}
}} ] }}
"""
_STEP = """name: "{name}.add"
backend: "python"{tensors}
instance_group [ {{ count: 1 kind: KIND_CPU }} ]
"""
_MODEL = """from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self._added = np.load(Path(__file__).with_name("added.npy"))

    def execute(self, requests):
        tensors = [pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", each + self._added)]) for each in tensors]
"""


def name_of(number: int) -> str:
    return f"tenant_{number:04}"


def write_models(count: int, folder: Path) -> Iterator[Path]:
    """The archives of ``count`` ensembles, one after the other. The one with number n adds n to a tensor of FP32[4]."""
    import numpy as np

    for number in range(count):
        name, tree = name_of(number), folder / name_of(number)
        (tree / name / "1").mkdir(parents=True)
        (tree / f"{name}.add" / "1").mkdir(parents=True)
        (tree / name / "config.pbtxt").write_text(_ENSEMBLE.format(name=name, tensors=_TENSORS))
        (tree / f"{name}.add" / "config.pbtxt").write_text(_STEP.format(name=name, tensors=_TENSORS))
        (tree / f"{name}.add" / "1" / "model.py").write_text(_MODEL)
        np.save(tree / f"{name}.add" / "1" / "added.npy", np.full(VALUES, number, np.float32))
        write_archive(tree, folder / f"{name}.tar.gz")
        yield folder / f"{name}.tar.gz"
