"""ensemble.toml as a file: as Windows saves it, in other encodings, and hostile.

What may be wrong in a recipe is in tables of cases, tests/checking/cases/recipe-*.yaml.
"""

import os
from pathlib import Path

import pytest

from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.project.recipe.places import RECIPE
from triton_ensembles.project.recipe.reader import read_recipe, recipe_and_faults

GOOD = """\
description = "d"

[environments.text]
file = "envs/text.yml"
steps = ["tokenize"]
"""


def read(tmp_path: Path, text: str | bytes) -> object:
    (tmp_path / RECIPE).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_recipe(tmp_path)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_recipe_that_windows_has_saved_is_read(mark: str, end: str, tmp_path: Path) -> None:
    """Otherwise it is not TOML at line 1, column 1, where nothing can be seen."""
    assert read(tmp_path, mark + GOOD.replace("\n", end)) == read(tmp_path, GOOD)
    with pytest.raises(EnsembleError) as caught:
        read(tmp_path, mark + GOOD.replace('["tokenize"]', "[]").replace("\n", end))
    assert caught.value.line == 5


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_a_recipe_in_another_encoding_is_refused_with_the_cure(encoding: str, tmp_path: Path) -> None:
    """Such as what PowerShell's > writes."""
    with pytest.raises(EnsembleError, match=r"this is not a text file in UTF-8; save it as UTF-8"):
        read(tmp_path, GOOD.replace('"d"', '"Sätze"').encode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        "a." * 30_000 + "b = 1",
        "a-" * 100_000,
        "#" * 300_000,
        "".join(f"[a{number}]\n" for number in range(20_000)),
        f"a = {'9' * 10_000}",
        f"a = {'[' * 100_000}",
        f"a = '{'x' * 300_000}",
        None,
    ],
    ids=lambda text: text[:8] if text else "pipe",
)
def test_a_hostile_recipe_is_refused_in_a_few_lines(text: str | None, tmp_path: Path) -> None:
    """Otherwise a short file takes minutes, or `build` hangs or ends in a traceback."""
    path = tmp_path / RECIPE
    if text is None:
        os.mkfifo(path)
    else:
        path.write_text(text)
        assert 1 <= len(recipe_and_faults(text, path)[1]) <= 50
    with pytest.raises(EnsembleError) as refused:
        read_recipe(tmp_path)
    assert "\n" not in str(refused.value)
