"""Small model repositories of Python steps, as any team might have them: no recipe, no examples."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.configs import ON_CPU, in_a_row, tensors
from tests.files import write_files

_TENSORS = f"max_batch_size: 8\n{tensors('X:FP32:2', 'Y:FP32:2')}"
_MODEL = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(request, "X").as_numpy()) for request in requests]

    def answer(self, values):
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", values * FACTOR)])
"""


def model_py(factor: int) -> str:
    """Multiplies by ``factor``."""
    return _MODEL.replace("FACTOR", str(factor))


def write_step(repository: Path, name: str, factor: int = 3, config: str = "") -> Path:
    """A Python model that multiplies its two numbers by ``factor``; ``config`` is added to its config.pbtxt."""
    files = {"1/model.py": model_py(factor), "config.pbtxt": f'backend: "python"\n{_TENSORS}{ON_CPU}{config}'}
    return write_files(repository / name, files)


def write_ensemble(repository: Path, name: str, steps: Sequence[str]) -> Path:
    """An ensemble that sends its input through ``steps``."""
    write_files(repository / name, {"config.pbtxt": in_a_row(*steps) + _TENSORS})
    (repository / name / "1").mkdir()
    return repository / name


def write_chain(repository: Path) -> Path:
    """The repository of the ensemble ``six``: ``double``, then ``triple``."""
    write_step(repository, "double", 2)
    write_step(repository, "triple", 3)
    write_ensemble(repository, "six", ["double", "triple"])
    return repository


def pack(source: Path, archive: Path, *members: str) -> Path:
    """``tar czf ARCHIVE -C SOURCE MEMBERS``, with tar's own names: ``./`` and ``./double/``."""
    with tarfile.open(archive, "w:gz" if archive.suffix in (".gz", ".tgz") else "w") as tar:
        for member in members or (".",):
            tar.add(source / member, arcname=member)
    return archive
