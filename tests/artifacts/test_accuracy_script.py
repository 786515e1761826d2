"""An accuracy check of the project's own: a script that the recipe names, and a source on this machine."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from tests.chain import NAME, write_chain
from tests.commands.projects import run_in
from triton_ensembles.archive.manifest import MANIFEST
from triton_ensembles.checking import check

SCRIPT = """import json, sys
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
RECIPE = """description = "Three numbers, plus two"
[sources.words]
from = [{ path = "corpus" }]
files = { "words.txt" = "%s" }
[[artifacts]]
path = "first/1/vocabulary.txt"
maker = "copy"
source = "words"
file = "words.txt"
accuracy = { run = "scripts/accuracy.py", reads = ["limit.txt"], options = { at_least = 2 } }
"""


def write_words(project: Path, words: str) -> None:
    """The source, and the recipe with its sha256."""
    (project / "corpus").mkdir(exist_ok=True)
    (project / "corpus" / "words.txt").write_text(words)
    recipe = RECIPE % hashlib.sha256(words.encode()).hexdigest()
    (project / "ensembles" / NAME / "ensemble.toml").write_text(recipe)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_chain(tmp_path)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "accuracy.py").write_text(SCRIPT)
    (tmp_path / "limit.txt").write_text("none")
    write_words(tmp_path, "two words")
    return tmp_path


def test_what_it_finds_is_in_the_manifest_and_it_is_run_when_its_files_change(project: Path) -> None:
    assert check([project / "ensembles" / NAME]).faults == ()
    for limit in ("none", "all"):
        (project / "limit.txt").write_text(limit)
        result = run_in(project, "build", NAME)
        assert result.exit_code == 0, result.output
        assert ("first/1/vocabulary.txt: made by copy" in result.output) == (limit == "none")
        assert f"measured by scripts/accuracy.py, words 2, limit {limit}" in result.output
        manifest = json.loads((project / "build" / "cpu" / NAME / MANIFEST).read_text())
        facts = {"precision": "fp32", "measured_on": "scripts/accuracy.py", "words": 2, "limit": limit}
        assert manifest["artifacts"]["first/1/vocabulary.txt"]["accuracy"] == facts
        assert manifest["weights"] == "provided"  # nothing says where a file of this machine comes from
    assert "unchanged" in run_in(project, "build", NAME).output


def test_a_check_that_fails_stops_the_build_with_its_words(project: Path) -> None:
    assert run_in(project, "build", NAME).exit_code == 0
    before = (project / "dist" / "cpu" / f"{NAME}.tar.gz").read_bytes()
    write_words(project, "one")
    for _ in range(2):  # a refusal is not kept as an answer
        result = run_in(project, "build", NAME)
        assert result.exit_code == 1
        (line,) = [each for each in result.stderr.splitlines() if each.startswith("error: ")]
        assert line.endswith(": this check refuses the file: vocabulary.txt has 1 words in fp32, and 2 are wanted")
    assert (project / "dist" / "cpu" / f"{NAME}.tar.gz").read_bytes() == before


def test_a_name_alone_is_enough_and_random_weights_are_not_measured(project: Path) -> None:
    """Otherwise no archive could be rehearsed where the weights are not."""
    recipe = project / "ensembles" / NAME / "ensemble.toml"
    random = 'random = { maker = "numbered_labels", options = { count = 1 } }\n'
    recipe.write_text(recipe.read_text().partition("accuracy")[0] + random + 'accuracy = "scripts/accuracy.py"\n')
    words = "measured by scripts/accuracy.py, words 2, limit none"
    for _ in range(2):
        result = run_in(project, "build", NAME)
        assert result.exit_code == 0 and words in result.output, result.output
        (project / "corpus" / "words.txt").unlink(missing_ok=True)
        shutil.rmtree(project / "build")
        words = "not checked by scripts/accuracy.py, because its weights are random"


def test_a_file_of_this_machine_that_has_changed_stops_the_build(project: Path) -> None:
    """Otherwise `unchanged, nothing to do` says that the archive has the weights of today."""
    assert run_in(project, "build", NAME).exit_code == 0
    (project / "corpus" / "words.txt").write_text("three other words")
    result = run_in(project, "build", NAME)
    assert result.exit_code == 1
    words = "ensemble.toml:4: the source file words/words.txt cannot be used (path corpus: the sha256 of"
    assert words in result.output
    (project / "corpus" / "words.txt").unlink()  # as on a drive that is not mounted: the archive is what it was
    assert "unchanged" in run_in(project, "build", NAME).output
