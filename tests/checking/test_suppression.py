"""Faults that people accept: by a comment beside the line, or by pyproject.toml."""

from pathlib import Path

import pytest

from tests.checking.reports import NEGATIVE, run, write_model

pytestmark = pytest.mark.usefixtures("git_folder")
MODELS = Path("models")


def test_an_accepted_fault_is_counted_apart_and_fails_nothing() -> None:
    """Otherwise one fault that is meant so keeps check out of CI. What comments accept is in cases/suppression-*."""
    comment = "# check: ignore[max-batch-size-negative] the template of our customers"
    write_model(MODELS, NEGATIVE.replace(": -1", f": -1  {comment}"))
    result = run(MODELS)
    assert result.exit_code == 0 and ", 1 suppressed (" in result.output


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
