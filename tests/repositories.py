"""Small model repositories of Python steps, as any team might have them: no recipe, no examples."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

_STEP = """\
backend: "python"
max_batch_size: 8
input [ { name: "X", data_type: TYPE_FP32, dims: [ 2 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 2 ] } ]
instance_group [ { kind: KIND_CPU } ]
"""
_ENSEMBLE = """\
platform: "ensemble"
max_batch_size: 8
input [ { name: "X", data_type: TYPE_FP32, dims: [ 2 ] } ]
output [ { name: "Y", data_type: TYPE_FP32, dims: [ 2 ] } ]
"""
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
    version = repository / name / "1"
    version.mkdir(parents=True)
    (version / "model.py").write_text(model_py(factor))
    (repository / name / "config.pbtxt").write_text(_STEP + config)
    return repository / name


def write_ensemble(repository: Path, name: str, steps: Sequence[str]) -> Path:
    """An ensemble that sends its input through ``steps``."""
    (repository / name / "1").mkdir(parents=True)
    names = ["X", *(f"after_{step}" for step in steps[:-1]), "Y"]
    maps = [
        f'{{ model_name: "{step}" model_version: -1 input_map {{ key: "X" value: "{taken}" }} '
        f'output_map {{ key: "Y" value: "{made}" }} }}'
        for step, taken, made in zip(steps, names, names[1:], strict=False)
    ]
    scheduling = f"ensemble_scheduling {{ step [ {', '.join(maps)} ] }}\n"
    (repository / name / "config.pbtxt").write_text(_ENSEMBLE + scheduling)
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
