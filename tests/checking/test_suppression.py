"""Faults that people accept: by a comment beside the line, or by pyproject.toml."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY
from tests.checking.reports import MISSING, NEGATIVE, run, write_model
from triton_ensembles.checking.examples import python_model

pytestmark = pytest.mark.usefixtures("git_folder")
MODELS = Path("models")
BATCH = "max_batch_size: -1"
WHY = "check: ignore[max-batch-size-negative] the template of our customers"


@pytest.mark.parametrize(
    "text",
    [
        f"{BATCH}  # {WHY}",
        f"# {WHY}\n{BATCH}",
        f"# {WHY}\n# See the handbook.\n\n{BATCH}",
        f"# check: ignore[version-missing, max-batch-size-negative] both are meant so\n{BATCH}",
        f"# check:ignore [max-batch-size-negative]: both are meant so\n{BATCH}",
        f"{BATCH} # {WHY}\r",
        f"# check: ignore-file[max-batch-size-negative] a template\n\nname: 'scale'\n{BATCH}",
    ],
)
def test_a_comment_accepts_a_fault(text: str) -> None:
    """Otherwise one fault that is meant so keeps check out of CI."""
    write_model(MODELS, NEGATIVE.replace(BATCH, text))
    result = run(MODELS)
    assert result.exit_code == 0 and ", 1 suppressed (" in result.output


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        (f"{BATCH}  # check: ignore[max-batch-size-negative]", "suppression-incomplete", "this comment has no reason"),
        (f"{BATCH}  # check: ignore[max-batch-size-negative so", "suppression-incomplete", "has no reason"),
        (f"{BATCH}  # check: ignore", "suppression-incomplete", "has no rule in brackets"),
        (f"{BATCH}  # check: ignore[] because", "suppression-incomplete", "has no rule in brackets"),
        (f"{BATCH}  # check: ignore[max_batch_size_negative] so", "suppression-rule-unknown", "size-negative'?"),
        (f"{BATCH}\n# {WHY}", "max-batch-size-negative", "max_batch_size is -1"),
        (f"# {WHY}\n\nversion_policy {{ all {{ }} }}\n{BATCH}", "max-batch-size-negative", "max_batch_size is -1"),
        (f'{BATCH}  parameters {{ key: "# {WHY}" value {{ }} }}', "max-batch-size-negative", "max_batch_size is -1"),
    ],
)
def test_a_comment_that_accepts_nothing_says_why(text: str, rule: str, words: str) -> None:
    """Otherwise a fault is hidden without a reason, or a comment has no effect and nobody knows."""
    write_model(MODELS, NEGATIVE.replace(BATCH, text))
    result = run(MODELS)
    assert result.exit_code == 1 and f"[{rule}]" in result.output and words in result.output


def test_a_comment_that_is_left_over_is_a_note() -> None:
    """Otherwise comments outlive their faults, and hide the next."""
    write_model(MODELS, python_model(f"# {WHY}"))
    result = run(MODELS, "--strict")
    assert result.exit_code == 0
    assert "note[suppression-unused]: there is no fault 'max-batch-size-negative'" in result.output


@pytest.mark.parametrize(
    "text",
    [
        python_model("# check: ignore[image-backend-missing] we bring it"),  # only with --image
        python_model(f"# {WHY}\ninput [ {{").replace("input [ ", "input [[ "),  # the config cannot be read
    ],
)
def test_what_another_check_may_find_is_not_left_over(text: str) -> None:
    """Otherwise people delete a comment that another image needs, or that an error hides."""
    write_model(MODELS, text)
    assert "suppression-unused" not in run(MODELS).output


def test_comments_in_python_files_count_and_strings_do_not() -> None:
    """Otherwise a fault in model.py can only be accepted for the whole file."""
    write_model(MODELS, python_model())
    script = MODELS / "scale" / "1" / "model.py"
    head = "class TritonPythonModel:\n    def execute(self, requests):\n"
    why = "check: ignore[model-py-undefined-name] injected by our launcher"
    for body, code in (
        (f"        return [nothing for request in requests]  # {why}\n", 0),
        (f"        # {why}\n        return [nothing for request in requests]\n", 0),
        (f'        """\n        # {why}\n        """\n        return [nothing for request in requests]\n', 1),
    ):
        script.write_text(head + body)
        assert run(MODELS).exit_code == code, body


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_python_file_of_an_editor_on_windows_is_as_any_other(end: str) -> None:
    """Otherwise a comment in its first line accepts nothing, and nobody sees why."""
    code = "# check: ignore[model-py-numpy-name] patched before\nimport numpy as np; X = np.arrray\n" + MODEL_PY
    write_model(MODELS, python_model())
    (MODELS / "scale/1/model.py").write_bytes(b"\xef\xbb\xbf" + code.replace("\n", end).encode())
    result = run(MODELS)
    assert result.exit_code == 0 and ", 1 suppressed (" in result.output


def test_comments_in_a_recipe_count() -> None:
    """Otherwise a fault of a recipe cannot be accepted beside its line."""
    folder = Path("ensembles/one")
    write_model(folder, python_model(), "ensemble")
    recipe = 'description = "One # model"\n[environments.text]\nfile = "envs/none.yml"{}\nsteps = ["ensemble"]\n'
    (folder / "ensemble.toml").write_text(recipe.format(""))
    assert "ensemble.toml:3: error[recipe-file-missing]" in run(folder).output
    (folder / "ensemble.toml").write_text(recipe.format("  # check: ignore[recipe-file-missing] made by make"))
    assert "recipe-file-missing" not in run(folder).output


def test_a_comment_for_the_file_covers_the_folder_of_its_model_and_no_other() -> None:
    """Otherwise what no line can say, such as a missing file, can only be accepted in pyproject.toml."""
    comment = "# check: ignore-file[version-not-available] at start"
    for name, text in (("scale", python_model(comment)), ("other", python_model())):
        write_model(MODELS, text, name)
        shutil.rmtree(MODELS / name / "1")
    result = run(MODELS)
    assert "models/other: error[version-not-available]" in result.output and "models/scale:" not in result.output


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ('ignore = ["max-batch-size-negative"]', 0),
        ('per-file-ignores = { "models/scale/**" = ["max-batch-size-negative"] }', 0),
        ('per-file-ignores = { "models" = ["max-batch-size-negative"] }', 0),
        ('per-file-ignores = { "**/scale/*" = ["max-batch-size-negative"] }', 0),
        ('per-file-ignores = { "config.pbtxt" = ["max-batch-size-negative"] }', 0),
        ('per-file-ignores = { "models/other/**" = ["max-batch-size-negative"] }', 1),
        ('per-file-ignores = { "scale" = ["max-batch-size-negative"] }', 1),
        ('ignore = ["version-missing"]', 1),
        ("", 1),
    ],
)
def test_pyproject_accepts_faults(table: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a rule that a team does not want has to be accepted in every file."""
    write_model(MODELS, NEGATIVE)
    Path("pyproject.toml").write_text(f"[tool.triton-ensembles.check]\n{table}\n")
    result = run(MODELS)
    assert result.exit_code == code and ("1 suppressed" in result.output) == (code == 0)
    monkeypatch.chdir(MODELS)
    assert run(".").exit_code == code


def test_the_nearest_pyproject_counts_within_the_git_repository(tmp_path: Path) -> None:
    """Otherwise a file somewhere above a repository changes what check finds."""
    table = '[tool.triton-ensembles.check]\nignore = ["max-batch-size-negative"]\n'
    write_model(Path("inner/models"), NEGATIVE)
    (tmp_path / "pyproject.toml").write_text(table)
    (tmp_path / "inner" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert run("inner/models").exit_code == 0
    (tmp_path / "inner" / ".git").mkdir()
    assert run("inner/models").exit_code == 1


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('ignore = ["max-batch-size-negativ"]', "pyproject.toml:2: [tool.triton-ensembles.check] names a rule"),
        ('ignores = ["version-missing"]', "names a key 'ignores', which does not exist; did you mean 'ignore'?"),
        ('ignore = "version-missing"', 'write ignore = ["rule-id"]'),
        ("per-file-ignores = []", "per-file-ignores is not a table"),
        ("ignore = [", "this is not TOML"),
    ],
)
def test_a_pyproject_that_cannot_be_used_is_a_line_with_its_cure(table: str, words: str) -> None:
    """Otherwise a misspelled rule is ignored in vain."""
    write_model(MODELS, NEGATIVE)
    Path("pyproject.toml").write_text(f"[tool.triton-ensembles.check]\n{table}\n")
    result = run(MODELS)
    assert result.exit_code == 2 and words in result.stderr


def test_comments_in_archives_count() -> None:
    """Otherwise an archive is refused for what its source accepts."""
    write_model(MODELS, python_model(f"{MISSING}  # check: ignore[version-missing] next week"))
    with tarfile.open("one.tar.gz", "w:gz") as archive:
        archive.add(MODELS, ".")
    assert "version-missing" not in run("one.tar.gz").output
