"""Which project a command works on, from wherever it is called."""

import sys
from pathlib import Path

import pytest

from checkout import ROOT
from tests.chain import NAME, write_chain
from tests.commands.projects import run, run_in, succeeded
from tests.files import write_files
from tests.running import outcome
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.paths import user_folder
from triton_ensembles.project.location import find_project
from triton_ensembles.project.recipe.reader import read_recipe


def test_it_is_the_nearest_folder_with_ensembles_from_the_current_one_upward(tmp_path: Path) -> None:
    inner = tmp_path / "services" / "vision"
    for project in (tmp_path, inner):
        write_chain(project)
    assert find_project(inner / "ensembles" / NAME / "first" / "1") == inner
    assert find_project(inner) == inner
    assert find_project(inner.parent) == tmp_path
    for text in ("[project\nbroken", 'tool = "triton-ensembles"'):  # not ours to judge
        assert find_project(write_files(tmp_path / "library", {"pyproject.toml": text})) == tmp_path


def test_a_pyproject_may_name_it(tmp_path: Path) -> None:
    write_chain(tmp_path / "serving")
    write_files(tmp_path, {"pyproject.toml": '[tool.triton-ensembles]\r\nproject = "serving"\r\n', "src/empty": ""})
    assert find_project(tmp_path / "src") == tmp_path / "serving"
    result = run_in(tmp_path, "list")
    assert result.output.startswith(NAME)
    assert find_project(tmp_path / "serving") == tmp_path / "serving"


# Read as they are, each takes minutes, gigabytes or ends in a traceback.
ENDLESS = (
    *(f"a = {value}" for value in ("[" * 100_000, "{a=" * 50_000, "9" * 100_000, f"'{'x' * (2 << 20)}'")),
    f"{'.'.join('a' * 100_000)} = 1",
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\n[tool.triton-ensembles]\nproject = "nowhere"', "pyproject.toml:3: .* names 'nowhere', which holds no "),
        ("[tool.triton-ensembles]\nproject = 3", r"pyproject.toml:2: .* must be a text; write project = "),
        ('[tool.triton-ensembles]\nproject = "\\u0000"', r"pyproject.toml:2: .* names '.x00', which holds no "),
        ('tool.triton-ensembles = "x"', "pyproject.toml: triton-ensembles must be a table"),
        ("[tool.triton-ensembles\n", "pyproject.toml:1: this is not TOML"),
        *((f"[tool.triton-ensembles]\n{text}", "pyproject.toml") for text in ENDLESS),
    ],
    ids=lambda text: text[:60],
)
def test_a_pyproject_that_names_none_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message) as refused:
        find_project(write_files(tmp_path, {"pyproject.toml": text}))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("words", ["list", "build", "serve", "clone x --count 1 --prefix a"])
def test_without_a_project_a_command_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*words.split())
    line = result.stderr.splitlines()[-1]
    assert result.exit_code == 2
    assert f"there is no project: neither {tmp_path} nor a folder above it holds ensembles/" in line
    assert "--project DIR" in line


def test_paths_need_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_chain(tmp_path / "a")
    (tmp_path / "a" / "ensembles").rename(tmp_path / "a" / "models")
    monkeypatch.chdir(tmp_path)
    for arguments in (["check", "a/models"], ["graph", f"a/models/{NAME}"], ["diff", "cpu", "fused"]):
        succeeded(run(*arguments))
    for arguments in (["check", "b"], ["graph", "b"]):
        result = run(*arguments)
        assert "there is no path 'b', and no project whose ensemble it could be" in result.stderr


def test_a_checkout_is_the_project_of_its_own_build_py(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "build.py", "check", "bert_trt"]
    assert outcome(*command, cwd=tmp_path).returncode == 0
    write_chain(tmp_path)
    done = outcome(*command[:2], "list", cwd=tmp_path)
    assert done.stdout.startswith(NAME)


def test_windows_line_ends_are_read_as_all_others(tmp_path: Path) -> None:
    write_chain(tmp_path)
    for path in (tmp_path / "ensembles").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for words in ("list", "check --strict", "check --strict --target fused", "diff cpu fused"):
        succeeded(run_in(tmp_path, *words.split()))


def test_a_recipe_for_a_newer_version_says_which(tmp_path: Path) -> None:
    write_chain(tmp_path)
    recipe = tmp_path / "ensembles" / NAME / "ensemble.toml"
    recipe.write_text('requires = ">=7.1"\nfresh = true\n' + recipe.read_text())
    with pytest.raises(EnsembleError) as caught:
        read_recipe(recipe.parent)
    words = f"{recipe}:1: requires: this recipe is for triton-ensembles >=7.1, and this is "
    assert str(caught.value).startswith(words)
    assert "pip install --upgrade" in caught.value.cure
    recipe.write_text(recipe.read_text().replace(">=7.1", ">=0.1").replace("fresh = true\n", ""))
    assert read_recipe(recipe.parent).requires == ">=0.1"


def test_what_is_installed_goes_to_the_cache_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert user_folder() == ROOT / ".triton"  # as ever, in a checkout
    monkeypatch.setattr("triton_ensembles.ground.paths.IS_CHECKOUT", False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert user_folder() == tmp_path / ".cache" / "triton-ensembles"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the specification says to ignore
    assert user_folder() == tmp_path / ".cache" / "triton-ensembles"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert user_folder() == tmp_path / "cache" / "triton-ensembles"
    monkeypatch.setenv("TRITON_ENSEMBLES_HOME", "~/own")
    assert user_folder() == tmp_path / "own"


def test_a_folder_that_cannot_be_written_is_named_with_the_variable_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_ENSEMBLES_HOME", str(tmp_path / "file" / "home"))
    result = run("setup")
    (line,) = result.stderr.splitlines()
    words = f"error: {tmp_path}/file/home: tritonserver cannot be installed here: Not a directory; set TRIT"
    assert line.startswith(words)
