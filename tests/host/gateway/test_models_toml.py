"""The gateway's table: what is wrong with one is said with its line."""

from pathlib import Path

import pytest

from checkout import ROOT
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.host.gateway.models_toml import read_table

GOOD = """[[models]]
name = "a"
version = 3
model = "m"
inputs.X = { field = "x", form = "json" }
result = "Y"
"""


def test_the_table_of_the_project_is_valid() -> None:
    assert read_table(ROOT / "gateway" / "models.toml").models


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "models: Field required"),
        (GOOD + GOOD, "a version 3 is listed twice"),
        (GOOD + GOOD.replace("3", "4").replace("result", "reslt"), r"line 7: .*'reslt'; did you mean 'result'"),
        (GOOD.replace("json", "jpeg"), r"line 1: .*inputs.X.form: Input should be 'base64', 'text' or 'json'"),
        (GOOD.replace('result = "Y"', ""), "line 1: .*result"),
        (GOOD.replace('"Y"', "[]"), "result names no output tensor"),
        (GOOD + 'inputs.Z = { field = "x", form = "text" }', "two inputs are made from the field 'x'"),
        (GOOD.replace("= 3", "= "), "models.toml:3: this is not TOML"),
        (GOOD + "seconds = 0", "seconds: Input should be greater than 0"),
        (GOOD + 'model_version = "latest"', "model_version"),
    ],
)
def test_a_wrong_table_is_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "models.toml").write_text(text)
    with pytest.raises(EnsembleError, match=words):
        read_table(tmp_path / "models.toml")
