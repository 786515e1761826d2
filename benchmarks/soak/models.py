"""Small ensembles, of which each adds a constant of its own: an answer shows which of them gave it."""

from collections.abc import Iterator
from pathlib import Path

from tests.configs import ON_CPU, in_a_row, tensors
from tests.files import write_files
from triton_ensembles.archive.write import write_archive

VALUES = 4
_TENSORS = f"max_batch_size: 0\n{tensors(f'IN:FP32:{VALUES}', f'OUT:FP32:{VALUES}')}"
_MODEL = """import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        tensors = [pb_utils.get_input_tensor_by_name(request, "IN").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", each + ADDED)]) for each in tensors]
"""


def name_of(number: int) -> str:
    return f"tenant_{number:04}"


def write_models(count: int, folder: Path) -> Iterator[Path]:
    """The archives of ``count`` ensembles, one after the other. The one with number n adds n to a tensor of FP32[4]."""
    for number in range(count):
        name, step = name_of(number), f"{name_of(number)}.add"
        files = {
            f"{name}/1": None,
            f"{name}/config.pbtxt": in_a_row(f"{step} IN OUT", taken="IN", written="OUT") + _TENSORS,
            f"{step}/config.pbtxt": f'backend: "python"\n{_TENSORS}{ON_CPU}',
            f"{step}/1/model.py": _MODEL.replace("ADDED", str(number)),
        }
        write_archive(write_files(folder / name, files), folder / f"{name}.tar.gz")
        yield folder / f"{name}.tar.gz"
