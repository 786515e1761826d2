"""Weights of unknown origin are called that, and only what a recipe's sha256 covers is called pretrained."""

from pathlib import Path

import pytest

from tests.checking.packing import ensemble_of, python_step
from tests.files import write_files
from tests.recipes import copy_recipe
from triton_ensembles.building.packed.manifest import weights_origin
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.triton.targets import CPU

SOURCE, NO_SOURCE = copy_recipe("step/1/model.bin"), 'description = "An example"\n'


@pytest.mark.parametrize(
    ("files", "backend", "recipe", "expected"),
    [
        ({"step/1/model.py": b""}, "python", SOURCE, "pretrained"),
        ({"step/1/model.py": b"", "step/1/vocabulary.txt": b"a\nb\n"}, "python", SOURCE, "pretrained"),
        ({"step/1/model.py": b"", "step/1/weights.npz": b"PK\0\1"}, "python", SOURCE, "provided"),
        ({"step/1/model.onnx": b"\x08\0"}, "onnxruntime", NO_SOURCE, "provided"),
        ({"step/1/model.json": b"{}"}, "fil", NO_SOURCE, "provided"),
        ({"step/1/model.py": b""}, "python", NO_SOURCE, "provided"),
    ],
)
def test_only_what_comes_from_a_source_is_pretrained(
    files: dict[str, bytes], backend: str, recipe: str, expected: str, tmp_path: Path
) -> None:
    """Otherwise an endpoint is tagged pretrained for files that nobody can account for."""
    configs = {
        "ensemble/config.pbtxt": ensemble_of("step"),
        "step/config.pbtxt": python_step().replace("python", backend),
    }
    write_files(tmp_path, {"ensemble.toml": recipe, **configs, **files})
    plan = plan_build(tmp_path, CPU)
    assert [weights_origin(plan, [random]) for random in (False, True)] == [expected, "random"]
