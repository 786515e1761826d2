"""A maker of the project's own: a script that the recipe names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.commands.projects import run_in
from triton_ensembles.check import check
from triton_ensembles.recipe.reader import read_recipe

SCRIPT = """import json, sys
from pathlib import Path

output, job = map(Path, sys.argv[1:])
job = json.loads(job.read_text())
output.write_text("{} {}".format(job["options"]["plus"], Path("words.txt").read_text()))
"""
ARTIFACT = """
[[artifacts]]
path = "first/1/plus.txt"
maker = "script"
run = "scripts/make.py"
reads = ["words.txt"]
options = { plus = 2 }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_chain(tmp_path)
    with (tmp_path / "ensembles" / NAME / "ensemble.toml").open("a") as recipe:
        recipe.write(ARTIFACT)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "make.py").write_text(SCRIPT)
    (tmp_path / "words.txt").write_text("words")
    return tmp_path


def made(project: Path) -> str:
    result = run_in(project, "build", NAME)
    assert result.exit_code == 0, result.output
    (staged,) = (project / "build" / "cpu" / NAME).glob("*/1/plus.txt")
    return staged.read_text()


def test_it_is_run_again_when_it_its_options_or_its_files_change(project: Path) -> None:
    assert check([project / "ensembles" / NAME]).faults == ()
    assert made(project) == "2 words"
    assert "unchanged" in run_in(project, "build", NAME).output
    (project / "words.txt").write_text("others")
    assert made(project) == "2 others"
    recipe = project / "ensembles" / NAME / "ensemble.toml"
    recipe.write_text(recipe.read_text().replace("plus = 2", "plus = 3"))
    assert made(project) == "3 others"
    (project / "scripts" / "make.py").write_text(SCRIPT.replace("{} {}", "{}-{}"))
    assert made(project) == "3-others"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit('no corpus')", "scripts/make.py: this script fails: no corpus"),
        ("import nothing_of_this_name", "make.py: this script fails: ModuleNotFoundError: No module named 'nothing_"),
        ("", "scripts/make.py: this script ended well, but it wrote no file; write the model to the path"),
    ],
)
def test_a_script_that_fails_is_named_with_its_last_line(project: Path, script: str, reason: str) -> None:
    (project / "scripts" / "make.py").write_text(script)
    result = run_in(project, "build", NAME)
    assert result.exit_code == 1
    assert reason in result.output


def test_check_finds_what_is_wrong_with_its_entry(project: Path) -> None:
    folder = project / "ensembles" / NAME
    (project / "scripts" / "make.py").unlink()
    (fault,) = check([folder]).faults
    assert fault.rule == "recipe-file-missing"
    text = (folder / "ensemble.toml").read_text()
    (folder / "ensemble.toml").write_text(text.replace('run = "scripts/make.py"\n', ""))
    (fault,) = check([folder]).faults
    assert (fault.rule, fault.cure) == ("recipe-maker-options", 'write run = "…"')
    (folder / "ensemble.toml").write_text(text.replace('maker = "script"', 'maker = "copy"'))
    assert "'run' is for maker = 'script'" in check([folder]).faults[0].message


def test_a_replacement_may_be_a_script_too(project: Path) -> None:
    recipe = project / "ensembles" / NAME / "ensemble.toml"
    text = recipe.read_text().replace('maker = "script"\nrun = "scripts/make.py"', 'maker = "copy"\nfile = "a"')
    recipe.write_text(text + 'random = { maker = "script", run = "scripts/make.py" }\nsource = "s"\n')
    with recipe.open("a") as stream:
        stream.write(f'[sources.s]\nfrom = [{{ url = "https://localhost/" }}]\nfiles = {{ a = "{"0" * 64}" }}\n')
    (artifact,) = read_recipe(recipe.parent).artifacts
    assert artifact.reads == ("words.txt", "scripts/make.py")
    assert artifact.random is not None and artifact.random.options == {"run": "scripts/make.py"}
