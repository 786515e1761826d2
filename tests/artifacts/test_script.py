"""A maker and an accuracy check of the project's own: scripts that the recipe names, and a source on this machine."""

import hashlib
import json
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.chain import NAME, write_chain
from tests.commands.projects import run_in
from tests.files import write_files
from tests.recipes import copy_recipe
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking.checker import check
from triton_ensembles.project.recipe.reader import read_recipe

MAKER = """import json, sys
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
CHECK = """import json, sys
from pathlib import Path

model, job = map(Path, sys.argv[1:])
job = json.loads(job.read_text())
found, wanted = len(model.read_text().split()), job["options"].get("at_least", 1)
assert Path(job["files"]["words.txt"]).read_text() == model.read_text()
print("an error rate that nobody asked for")
if found < wanted:
    sys.exit(f"{model.name} has {found} words in {job['precision']}, and {wanted} are wanted")
print(json.dumps({"words": found, "limit": Path("limit.txt").read_text()}))
"""
CHECKED = 'accuracy = { run = "scripts/accuracy.py", reads = ["limit.txt"], options = { at_least = 2 } }\n'
OF_A_JOB = """from triton_ensembles.artifacts.script import main

main(lambda job: job.output.write_bytes(job.source_file().read_bytes()))
"""
RECIPE = Path("ensembles", NAME, "ensemble.toml")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """With a file that a script makes."""
    write_chain(tmp_path)
    recipe = (tmp_path / RECIPE).read_text() + ARTIFACT
    return write_files(tmp_path, {str(RECIPE): recipe, "scripts/make.py": MAKER, "words.txt": "words"})


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    """With a file that a script measures."""
    write_chain(tmp_path)
    write_files(tmp_path, {"scripts/accuracy.py": CHECK, "limit.txt": "none"})
    return write_words(tmp_path, "two words")


def write_words(project: Path, words: str) -> Path:
    """The source, and the recipe with its sha256."""
    files = {"words.txt": hashlib.sha256(words.encode()).hexdigest()}
    recipe = copy_recipe("first/1/vocabulary.txt", CHECKED, place='path = "corpus"', files=files)
    return write_files(project, {"corpus/words.txt": words, str(RECIPE): recipe})


def made(project: Path) -> str:
    result = run_in(project, "build", NAME)
    assert result.exit_code == 0, result.output
    (staged,) = (project / "build" / "cpu" / NAME).glob("*/1/plus.txt")
    return staged.read_text()


def manifest(project: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((project / "build" / "cpu" / NAME / MANIFEST).read_text())
    return found


def test_it_is_run_again_when_it_its_options_or_its_files_change(project: Path) -> None:
    """The manifest has what it says: otherwise a new version of a package would not make the file again."""
    assert check([project / RECIPE.parent]).faults == ()
    assert made(project) == "2 words"
    record = manifest(project)["artifacts"]["first/1/plus.txt"]
    assert (record["facts"], record["made_from"]["tools"]) == ({"words": 1}, {"click": version("click")})
    assert "unchanged" in run_in(project, "build", NAME).output
    (project / "words.txt").write_text("others")
    assert made(project) == "2 others"
    (project / RECIPE).write_text((project / RECIPE).read_text().replace("plus = 2", "plus = 3"))
    assert made(project) == "3 others"
    (project / "scripts" / "make.py").write_text(MAKER.replace("{} {}", "{}-{}"))
    assert made(project) == "3-others"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit('no corpus')", "scripts/make.py: this script fails: no corpus"),
        ("import nothing_of_this_name", "make.py: this script fails: ModuleNotFoundError: No module named 'nothing_"),
        ("", "scripts/make.py: this script ended well, but it wrote no file; write the model to the path"),
        (OF_A_JOB, "scripts/make.py: this script fails: this maker reads one file, and the recipe names none"),
    ],
)
def test_a_script_that_fails_is_named_with_its_last_line(project: Path, script: str, reason: str) -> None:
    (project / "scripts" / "make.py").write_text(script)
    result = run_in(project, "build", NAME)
    assert result.exit_code == 1
    assert reason in result.output


def test_check_finds_what_is_wrong_with_its_entry(project: Path) -> None:
    recipe = project / RECIPE
    text = recipe.read_text()
    recipe.write_text(text.replace('run = "scripts/make.py"\n', ""))
    assert [fault.cure for fault in check([recipe.parent]).faults] == ['write run = "…"']
    recipe.write_text(text.replace('maker = "script"', 'maker = "copy"'))
    assert "'run' is for maker = 'script'" in check([recipe.parent]).faults[0].message


def test_a_replacement_may_also_be_a_script(project: Path) -> None:
    recipe = project / RECIPE
    text = recipe.read_text().replace('maker = "script"\nrun = "scripts/make.py"', 'maker = "copy"\nfile = "a"')
    text += 'random = { maker = "script", run = "scripts/make.py" }\nsource = "s"\n'
    recipe.write_text(f'{text}[sources.s]\nfrom = [{{ url = "https://localhost/" }}]\nfiles = {{ a = "{"0" * 64}" }}\n')
    (artifact,) = read_recipe(recipe.parent).artifacts
    assert artifact.reads == ("words.txt", "scripts/make.py")
    assert artifact.random is not None and artifact.random.options == {"run": "scripts/make.py"}


def test_what_a_check_finds_is_in_the_manifest_and_it_is_run_when_its_files_change(checked: Path) -> None:
    assert check([checked / RECIPE.parent]).faults == ()
    for limit in ("none", "all"):
        (checked / "limit.txt").write_text(limit)
        result = run_in(checked, "build", NAME)
        assert result.exit_code == 0, result.output
        assert ("first/1/vocabulary.txt: made by copy" in result.output) == (limit == "none")
        assert f"measured by scripts/accuracy.py, words 2, limit {limit}" in result.output
        facts = {"precision": "fp32", "measured_on": "scripts/accuracy.py", "words": 2, "limit": limit}
        assert manifest(checked)["artifacts"]["first/1/vocabulary.txt"]["accuracy"] == facts
        assert manifest(checked)["weights"] == "provided"  # nothing says where a file of this machine comes from
    assert "unchanged" in run_in(checked, "build", NAME).output


def test_a_check_that_fails_stops_the_build_with_its_words(checked: Path) -> None:
    assert run_in(checked, "build", NAME).exit_code == 0
    before = (checked / "dist" / "cpu" / f"{NAME}.tar.gz").read_bytes()
    write_words(checked, "one")
    for _ in range(2):  # a refusal is not kept as an answer
        result = run_in(checked, "build", NAME)
        assert result.exit_code == 1
        (line,) = [each for each in result.stderr.splitlines() if each.startswith("error: ")]
        assert line.endswith(": this check refuses the file: vocabulary.txt has 1 words in fp32, and 2 are wanted")
    assert (checked / "dist" / "cpu" / f"{NAME}.tar.gz").read_bytes() == before


def test_a_name_alone_is_enough_and_random_weights_are_not_measured(checked: Path) -> None:
    """Otherwise no archive could be rehearsed where the weights are not."""
    text = (checked / RECIPE).read_text().partition("accuracy")[0]
    random = 'random = { maker = "numbered_labels", options = { count = 1 } }\n'
    (checked / RECIPE).write_text(f'{text}{random}accuracy = "scripts/accuracy.py"\n')
    words = "measured by scripts/accuracy.py, words 2, limit none"
    for _ in range(2):
        result = run_in(checked, "build", NAME)
        assert result.exit_code == 0 and words in result.output, result.output
        (checked / "corpus" / "words.txt").unlink(missing_ok=True)
        shutil.rmtree(checked / "build")
        words = "not checked by scripts/accuracy.py, because its weights are random"


def test_a_file_of_this_machine_that_has_changed_stops_the_build(checked: Path) -> None:
    """Otherwise `unchanged, nothing to do` says that the archive has the weights of today."""
    assert run_in(checked, "build", NAME).exit_code == 0
    (checked / "corpus" / "words.txt").write_text("three other words")
    result = run_in(checked, "build", NAME)
    assert result.exit_code == 1
    words = "ensemble.toml:4: the source file mine/words.txt cannot be used (path corpus: the sha256 of"
    assert words in result.output
    (checked / "corpus" / "words.txt").unlink()  # as on a drive that is not mounted: the archive is what it was
    assert "unchanged" in run_in(checked, "build", NAME).output
