"""Commands on repositories and archives that have no recipe, in a folder that is no project."""

import json
import shutil
import signal
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkout import ROOT
from tests.commands.projects import run, run_in, succeeded
from tests.files import edit, write_files
from tests.repositories import pack, write_chain, write_ensemble, write_step
from tests.running import lines_until, outcome, port_options, running
from triton_ensembles.building.variants.written import clone
from triton_ensembles.server.ports import Ports

REQUEST = json.dumps({"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 2], "data": [1, 10]}]})
COMMAND = (sys.executable, "-m", "triton_ensembles")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder: a repository ``models``, its archive, and nothing else, in no project."""
    work = tmp_path / "work"
    write_chain(work / "models")
    pack(work / "models", work / "six.tar.gz")
    monkeypatch.chdir(work)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield work


def test_an_archive_is_served_outside_of_any_project_and_leaves_nothing_behind(folder: Path) -> None:
    """Otherwise a newcomer's folder fills with ours, or /tmp with his archives."""
    write_step(folder / "more", "four", 4)
    words = ("serve", "six.tar.gz", "more")
    with Ports.reserved() as ports, running(*COMMAND, *words, *port_options(ports), cwd=folder) as process:
        printed = lines_until(process.stdout, "Ctrl-C")
        assert printed[0] == "ready: six, four"
        log = Path(next(line.split()[1] for line in printed if line.split()[:1] == ["log"]))
        assert log.is_file()
        answers = [_ask(f"http://127.0.0.1:{ports.http}", model) for model in ("six", "four")]
        unpacked = list((folder.parent / "tmp").rglob("six/config.pbtxt"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert answers == [[6.0, 60.0], [4.0, 40.0]]
    assert len(unpacked) == 1
    assert list((folder.parent / "tmp").iterdir()) == []
    assert sorted(path.name for path in folder.iterdir()) == ["models", "more", "six.tar.gz"]


def _ask(url: str, model: str) -> list[float]:
    with urllib.request.urlopen(f"{url}/v2/models/{model}/infer", REQUEST.encode()) as answer:
        return list(json.load(answer)["outputs"][0]["data"])


def test_a_repository_becomes_a_proven_archive_with_the_same_bytes_every_time(folder: Path) -> None:
    write_files(folder / "models", {"double/1/__pycache__/model.pyc": b""})
    (folder / "models" / "triple" / "labels.txt").symlink_to(folder / "models" / "six" / "config.pbtxt")
    result = succeeded(run("build", "models", "--format", "json"))
    (made,) = json.loads(result.stdout)["archives"]
    assert (made["name"], made["archive"], made["changed"]) == ("models", "dist/models.tar.gz", True)
    with tarfile.open(folder / "dist" / "models.tar.gz") as tar:
        members = {member.name: member for member in tar}
    assert not [name for name in members if "__pycache__" in name]
    assert members["triple/labels.txt"].isfile()
    assert not list((folder / "dist").glob(".*"))
    content = (folder / "dist" / "models.tar.gz").read_bytes()
    shutil.rmtree(folder / "dist")
    assert run("build", "models").exit_code == 0
    assert (folder / "dist" / "models.tar.gz").read_bytes() == content


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", "fused"])
def test_a_path_whose_models_do_not_answer_is_loaded_but_not_proven(folder: Path, target: str) -> None:
    """Whoever has loaded it without --prove has heard nothing of its answers."""
    step = folder / "models" / "triple" / "1" / "model.py"
    edit(step, "values * 3", "values.reshape(7, 7)")
    words = ["build", "models", *(("--target", target) if target == "fused" else ())]
    assert run(*words).exit_code == 0
    refused = run(*words, "--prove")
    assert refused.exit_code == 1
    assert "cannot reshape array of size 2 into shape (7,7)" in refused.stderr
    edit(step, "values.reshape(7, 7)", "values * 3")
    proven = succeeded(run(*words, "--prove"))
    assert "asking" in proven.stderr


def test_a_path_is_measured_with_its_own_examples(folder: Path) -> None:
    write_files(folder / "models", {"six/examples/one.json": REQUEST})
    result = succeeded(run("perf", "models", "--concurrency", "1", "--seconds", "0.6", "--format", "json"))
    (report,) = json.loads(result.stdout)["reports"]
    assert (report["name"], report["input"]) == ("six", "1 example row: X FP32 [2]")
    assert [step["step"] for step in report["points"][0]["steps"]] == ["double", "triple"]
    assert (folder / "reports" / "perf" / "six.png").is_file()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("six.tar.gz", "models/double"), ["six.tar.gz", "double.tar.gz"]),
        pytest.param(("six.tar.gz", "--single"), ["six"], marks=pytest.mark.slow),
    ],
)
def test_an_endpoint_over_paths_is_asked_by_the_lines_that_it_prints(
    folder: Path, words: tuple[str, ...], names: list[str]
) -> None:
    words = ("endpoint", *words, "--port", "0", "--root", "root")
    with running(*COMMAND, *words, cwd=folder) as process:
        printed = lines_until(process.stdout, "Ctrl-C")
        exports = dict(line.removeprefix("export ").split("=", 1) for line in printed if line.startswith("export "))
        asked = [line for line in printed if line.startswith("runtime.invoke_endpoint")]
        lines = [line for line in printed if line.startswith(("import boto3", "runtime = "))]
        code = "\n".join([*lines, *(f"print({line})" for line in asked)])
        done = outcome(sys.executable, "-c", code, cwd=folder, **exports)
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["model_name"] for answer in answers] == names
    assert [answer["outputs"][0]["data"] for answer in answers] == [[0.0, 0.0]] * len(names)


def test_an_archive_without_a_manifest_is_cloned(folder: Path) -> None:
    words = ("clone", "six.tar.gz", "--count", "2", "--prefix", "t", "--output", "out")
    succeeded(run(*words))
    assert "2 of them unchanged" in run(*words).output
    with tarfile.open(folder / "out" / "t_0001.tar.gz") as tar:
        assert {name.split("/")[0] for name in tar.getnames()} == {"t_0001", "t_0001.double", "t_0001.triple"}
    succeeded(run("check", "out"))  # it also finds a step that is called as before


def test_a_single_model_at_the_root_keeps_its_place_in_a_clone(folder: Path, tmp_path: Path) -> None:
    pack(folder / "models" / "double", folder / "one.tar.gz")
    (made,) = clone(folder / "one.tar.gz", ["a_0"], tmp_path / "out")
    with tarfile.open(made) as tar:
        assert sorted(tar.getnames()) == ["1", "1/model.py", "config.pbtxt"]


def test_packages_of_the_command_line_are_those_of_the_steps(folder: Path) -> None:
    step = folder / "models" / "double" / "1" / "model.py"
    step.write_text("import pandas\n" + step.read_text())
    (folder / "mine.txt").write_text("pandas\n")
    missing = run("check", "models")
    assert missing.exit_code == 1 and "fix: write pandas into models/requirements.txt" in missing.stdout
    for option, place in (("--with=pandas", "--with"), ("--requirements=mine.txt", "mine.txt")):
        found = run("check", "models", option)
        assert found.exit_code == 0 and f"packages: those of {place}\n" in found.stderr


def test_an_ensemble_comes_before_a_folder_of_its_name_and_a_slash_means_the_folder(folder: Path) -> None:
    ensemble = folder / "project" / "ensembles" / "models"
    write_chain(ensemble)
    (ensemble / "six").rename(ensemble / "ensemble")
    (ensemble / "ensemble.toml").write_text('description = "of the project"')
    assert run_in(folder / "project", "build", "models").exit_code == 0
    assert (folder / "project" / "dist" / "cpu" / "models.tar.gz").is_file()
    result = run_in(folder / "project", "build", "./models", "--target", "gpu")
    assert "'models' is taken as it is" in result.stderr


def test_a_repository_is_fused_without_a_recipe_and_a_warning_is_only_said(folder: Path) -> None:
    write_files(folder / "models", {"double/v2/notes.txt": ""})
    result = succeeded(run("build", "models", "--target", "fused", "--format", "json"))
    (made,) = json.loads(result.stdout)["archives"]
    assert (made["name"], made["archive"]) == ("models", "dist/fused/models.tar.gz")
    assert not (folder / "ensembles").exists()
    # Its lock goes with the project that the build has made, so nobody can commit it.
    assert "new models --from models` makes a project that keeps it" in result.stderr
    assert "commit it" not in result.stderr
    warning = "models/double/v2: warning[version-folder-ignored]"
    assert warning in result.stderr and warning in run("build", "models").stderr


def test_one_of_several_ensembles_is_fused_by_its_name(folder: Path) -> None:
    write_ensemble(folder / "models", "twice", ("double", "double"))
    refused = run("build", "models", "--target", "fused")
    assert refused.exit_code == 1 and "choose one: --model six" in refused.stderr
    assert run("build", "models", "--target", "fused", "--model", "twice").exit_code == 0
    assert (folder / "dist" / "fused" / "twice.tar.gz").is_file()
    assert run("build", "models", "--model", "double").exit_code == 0
    with tarfile.open(folder / "dist" / "double.tar.gz") as packed:
        assert {name.split("/")[0] for name in packed.getnames()} == {"double"}


def test_a_repository_that_lacks_something_is_not_fused_and_the_recipe_is_offered(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = folder / "models" / "double" / "1" / "model.py"
    step.write_text("import nobody_knows_this\n" + step.read_text())
    result = run("build", "models", "--target", "fused")
    assert result.exit_code == 1
    assert "needs a recipe first" in result.stderr
    assert not (folder / "dist" / "fused").exists()
    place, words = result.stderr.strip().rpartition("; ")[2].split(", run: build.py ")
    assert place == "in an empty folder"  # this one is not
    (folder / "empty").mkdir()
    monkeypatch.chdir(folder / "empty")
    succeeded(run(*words.split()))
