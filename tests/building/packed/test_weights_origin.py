"""Weights of unknown origin are called that, and only what a recipe's sha256 covers is called pretrained."""

from pathlib import Path

import pytest

from tests.checking.packing import ensemble_of, python_step
from tests.files import write_files
from triton_ensembles.building.packed.manifest import weights_origin
from triton_ensembles.building.planned.plan import plan_build
from triton_ensembles.triton.targets import CPU

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
    configs = {
        "ensemble/config.pbtxt": ensemble_of("step"),
        "step/config.pbtxt": python_step().replace("python", backend),
    }
    write_files(tmp_path, {"ensemble.toml": f'description = "x"\n{recipe}', **configs, **files})
    plan = plan_build(tmp_path, CPU)
    assert [weights_origin(plan, [random]) for random in (False, True)] == [expected, "random"]
