"""A maker of the project's own: a script that the recipe names."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from checkout import ROOT
from tests.chain import NAME, write_chain
from tests.commands.projects import run_in
from tests.docs.blocks import blocks_of
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking import check
from triton_ensembles.project.recipe.reader import read_recipe

SCRIPT = """import json, sys
from pathlib import Path

output, job = map(Path, sys.argv[1:])
job = json.loads(job.read_text())
output.write_text("{} {}".format(job["options"]["plus"], Path("words.txt").read_text()))
print("made of words")
print(json.dumps({"words": 1}))
"""
ARTIFACT = """
[[artifacts]]
path = "first/1/plus.txt"
maker = "script"
run = "scripts/make.py"
reads = ["words.txt"]
tools = ["click"]
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
    recipe = project / "ensembles" / NAME / "ensemble.toml"
    text = recipe.read_text()
    recipe.write_text(text.replace('run = "scripts/make.py"\n', ""))
    assert [fault.cure for fault in check([recipe.parent]).faults] == ['write run = "…"']
    recipe.write_text(text.replace('maker = "script"', 'maker = "copy"'))
    assert "'run' is for maker = 'script'" in check([recipe.parent]).faults[0].message


def test_the_manifest_has_its_facts_and_the_versions_of_its_tools(project: Path) -> None:
    """Otherwise nobody could read what a file was made with, or a new version of a package would not make it again."""
    made(project)
    manifest = json.loads((project / "build" / "cpu" / NAME / MANIFEST).read_text())
    record = manifest["artifacts"]["first/1/plus.txt"]
    assert record["facts"] == {"words": 1}
    assert record["made_from"]["tools"] == {"click": version("click")}


def test_the_script_of_the_docs_makes_a_file_or_says_why_not(tmp_path: Path) -> None:
    blocks = [block.text for block in blocks_of(ROOT / "docs" / "ensembles.md")]
    (script,) = [text for text in blocks if "script import main" in text]
    (tmp_path / "make.py").write_text(script)
    (tmp_path / "weights.bin").write_bytes(b"weights")
    files = {"weights.bin": str(tmp_path / "weights.bin")}
    job = {"files": files, "file": "weights.bin", "options": {"hidden": 384}}
    for file, reason in (("weights.bin", ""), (None, "this maker reads one file, and the recipe names none")):
        (tmp_path / "job.json").write_text(json.dumps(job | {"file": file}))
        command = [sys.executable, tmp_path / "make.py", tmp_path / "out", tmp_path / "job.json"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.stdout, done.stderr.partition(";")[0]) == ("" if reason else '{"hidden": 384}\n', reason)
    assert (tmp_path / "out").read_bytes() == b"weights"


def test_a_replacement_may_also_be_a_script(project: Path) -> None:
    recipe = project / "ensembles" / NAME / "ensemble.toml"
    text = recipe.read_text().replace('maker = "script"\nrun = "scripts/make.py"', 'maker = "copy"\nfile = "a"')
    recipe.write_text(text + 'random = { maker = "script", run = "scripts/make.py" }\nsource = "s"\n')
    with recipe.open("a") as stream:
        stream.write(f'[sources.s]\nfrom = [{{ url = "https://localhost/" }}]\nfiles = {{ a = "{"0" * 64}" }}\n')
    (artifact,) = read_recipe(recipe.parent).artifacts
    assert artifact.reads == ("words.txt", "scripts/make.py")
    assert artifact.random is not None and artifact.random.options == {"run": "scripts/make.py"}
