"""Weights of unknown origin are called that, and only what a recipe's sha256 covers is called pretrained."""

import shutil
from pathlib import Path

import pytest

from checkout import ENSEMBLES
from tests.files import write_files
from triton_ensembles.building.packed.manifest import weights_origin
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.triton.targets import CPU

STEP = 'name: "{}"\nbackend: "{}"\ninput [ {{ name: "X" data_type: TYPE_FP32 dims: [ 4 ] }} ]\n'
STEP += 'output [ {{ name: "Y" data_type: TYPE_FP32 dims: [ 4 ] }} ]\n'
ENSEMBLE = """name: "ensemble"
platform: "ensemble"
input [ { name: "X" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling { step [ { model_name: "step" model_version: -1
  input_map { key: "X" value: "X" } output_map { key: "Y" value: "Y" } } ] }
"""


def ensemble(folder: Path, files: dict[str, bytes], backend: str = "python", recipe: str = "") -> Path:
    configs = {"ensemble/config.pbtxt": ENSEMBLE, "step/config.pbtxt": STEP.format("step", backend)}
    return write_files(folder, {"ensemble.toml": f'description = "x"\n{recipe}', **configs, **files})


def origin(folder: Path, random: bool = False) -> str:
    return weights_origin(plan_build(folder, CPU), [random])


SOURCE = f"""[sources.mine]
from = [{{ url = "https://example.com/" }}]
files = {{ "model.bin" = "{"0" * 64}" }}
[[artifacts]]
path = "step/1/model.bin"
maker = "copy"
source = "mine"
"""


@pytest.mark.parametrize(
    ("files", "backend", "recipe", "expected"),
    [
        ({"step/1/model.py": b""}, "python", SOURCE, "pretrained"),
        ({"step/1/model.py": b"", "step/1/vocabulary.txt": b"a\nb\n"}, "python", SOURCE, "pretrained"),
        ({"step/1/model.py": b"", "step/1/weights.npz": b"PK\0\1"}, "python", SOURCE, "provided"),
        ({"step/1/model.onnx": b"\x08\0"}, "onnxruntime", "", "provided"),
        ({"step/1/model.json": b"{}"}, "fil", "", "provided"),
        ({"step/1/model.py": b""}, "python", "", "provided"),
    ],
)
def test_only_what_comes_from_a_source_is_pretrained(
    files: dict[str, bytes], backend: str, recipe: str, expected: str, tmp_path: Path
) -> None:
    """Otherwise an endpoint is tagged pretrained for files that nobody can account for."""
    folder = ensemble(tmp_path / "mine", files, backend, recipe)
    assert origin(folder) == expected
    assert origin(folder, random=True) == "random"


def test_the_weights_of_bert_are_pretrained_until_a_file_is_put_beside_them(tmp_path: Path) -> None:
    folder = tmp_path / "bert_trt"
    shutil.copytree(ENSEMBLES / "bert_trt", folder)
    assert origin(folder) == "pretrained"
    (folder / "bert-trt" / "1").mkdir(exist_ok=True)
    (folder / "bert-trt" / "1" / "extra.bin").write_bytes(b"\0")
    assert origin(folder) == "provided"
