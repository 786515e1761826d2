"""ensemble.toml: every fault is reported with its line, and every key is documented."""

import os
from pathlib import Path

import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.reader import read_recipe, recipe_and_faults

GOOD = """\
description = "d"

[sources.weights]
from = [{ url = "https://example.org/models/" }]

[sources.weights.files]
"model.onnx" = "0000000000000000000000000000000000000000000000000000000000000000"

[[artifacts]]
path = "step/1/model.onnx"
maker = "copy"
source = "weights"
file = "model.onnx"
accuracy = "sentences"

[engines.step]
backend = "openvino"
precision = "bf16"
"""


def read(tmp_path: Path, text: str | bytes) -> object:
    (tmp_path / RECIPE).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_recipe(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('maker = "copy"', 'maker = "copi"', 11, "unknown maker 'copi'"),
        ('source = "weights"', 'source = "wheights"', 12, "unknown source 'wheights'"),
        ('file = "model.onnx"', 'file = "model.plan"', 13, "has no file 'model.plan'"),
        ('description = "d"', 'descripton = "d"', 1, "unknown key; did you mean 'description'"),
        ('description = "d"', "", None, "this key is missing"),
        ('file = "model.onnx"', 'needs = "step/1/a"', 13, "no artifact before this one has the path 'step/1/a'"),
        ('path = "step/1/model.onnx"', 'path = "../../etc/passwd"', 10, "does not leave its folder"),
        ('"0000', '"000g', 7, "does not have the form"),
        ('maker = "copy"', 'maker = "copy"\nmakr = "x"', 12, "unknown key; did you mean 'maker'"),
        ('maker = "copy"', "maker = copy", 11, "this is not TOML"),
        ("https://example.org/models/", "ftp://example.org/models/", 4, "does not have the form"),
        ("url =", "address =", 4, "a place needs a hub, a package, a path or a url"),
        ('"sentences"', '"sentence"', 14, "unknown accuracy check 'sentence'; did you mean 'sentences'?"),
        ("engines.step", "engines.stop", 16, "the engine of 'stop' needs an artifact in stop/1/"),
        ('"openvino"', '"openvno"', 17, "Input should be 'openvino', 'onnxruntime' or 'tensorflow'"),
        ('"openvino"', '"tensorflow"', 17, "the engine of step: 'tensorflow' does not load model.onnx"),
        ('"openvino"', '"onnxruntime"', 18, "the engine of step: only openvino computes in 'bf16'"),
        ('"bf16"', '"int4"', 18, "Input should be 'fp32', 'bf16' or 'int8'"),
        ('"bf16"', '"bf16"\ninstances = 0', 19, "greater than or equal to 1"),
        ('accuracy = "sentences"', "", 18, "to compute in 'bf16', step/1/model.onnx needs accuracy = 'sentences' or"),
        ("from = [", "from = 3 # [", 4, "sources.weights.from: this must be a list"),
        ('"https://example.org/models/"', "3", 4, "weights.from.0.url: this must be a text; write it in quotes"),
        ('"bf16"', '"bf16"\ninstances = "2"', 19, "instances: this must be a whole number; write it without quotes"),
        ('accuracy = "sentences"', 'accuracy = { reads = ["a"] }', 14, "artifacts.0.accuracy.run: this key is missing"),
        ('accuracy = "sentences"', 'accuracy = { run = "../a.py" }', 14, "artifacts.0.accuracy.run: '../a.py' must be"),
        ('accuracy = "sentences"', "accuracy = 0.99", 14, "is 'photographs' or 'sentences', or a script"),
        ('maker = "copy"', 'maker = "gguf"', 11, "by maker = 'script'"),
        ('"copy"', '"copy"\noptions = { sizes = [[1]] }', 12, "options.sizes: an option is a text, a number"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int | None, words: str) -> None:
    """In words of TOML: otherwise it is called a tuple, at a key that the recipe does not have."""
    with pytest.raises(EnsembleError) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert words in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_recipe_that_windows_has_saved_is_read(mark: str, end: str, tmp_path: Path) -> None:
    """Otherwise it is not TOML at line 1, column 1, where nothing can be seen."""
    assert read(tmp_path, mark + GOOD.replace("\n", end)) == read(tmp_path, GOOD)
    with pytest.raises(EnsembleError) as caught:
        read(tmp_path, mark + GOOD.replace('"bf16"', '"int4"').replace("\n", end))
    assert caught.value.line == 18


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_a_recipe_in_another_encoding_is_refused_with_the_cure(encoding: str, tmp_path: Path) -> None:
    """Such as what PowerShell's > writes."""
    with pytest.raises(EnsembleError, match=r"this is not a text file in UTF-8; save it as UTF-8"):
        read(tmp_path, GOOD.replace('"d"', '"Sätze"').encode(encoding))


@pytest.mark.parametrize(
    "text",
    ["a." * 30_000 + "b = 1", "a-" * 100_000, "#" * 300_000, "".join(f"[a{number}]\n" for number in range(20_000))],
)
def test_hostile_toml_is_a_few_lines(text: str, tmp_path: Path) -> None:
    """Otherwise a short file takes minutes."""
    recipe, faults = recipe_and_faults(text, tmp_path / "ensemble.toml")
    assert recipe is None
    assert 1 <= len(faults) <= 50


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("9" * 10_000, ""),
        ("[" * 100_000, "nested too deeply"),
        ("'" + "x" * 300_000, ""),
        ("pipe", ""),
        ("", "No such file"),
    ],
)
def test_a_hostile_or_missing_recipe_is_refused_in_a_line(content: str, words: str, tmp_path: Path) -> None:
    """Otherwise `build` hangs, or ends in a traceback."""
    if content == "pipe":
        os.mkfifo(tmp_path / RECIPE)
    elif content:
        (tmp_path / RECIPE).write_text(f"a = {content}")
    with pytest.raises(EnsembleError) as refused:
        read_recipe(tmp_path)
    assert words in str(refused.value) and "\n" not in str(refused.value)
