"""`new NAME` in an empty folder, as people run it: the project checks, builds, fuses, and passes its own tests."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from checkout import ROOT, TRITON_HOME
from tests.running import outcome
from triton_ensembles.version import __version__

NAME = "mood-of.texts_2"


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    variables = {"PYTHONPATH": str(ROOT), "TRITON_ENSEMBLES_HOME": str(TRITON_HOME)}
    return outcome(sys.executable, "-m", *command, cwd=folder, **variables)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project, in the folder of a new git repository."""
    folder = tmp_path_factory.mktemp("project")
    (folder / ".git").mkdir()
    (folder / "LICENSE").write_text("as the hosting service wrote it")
    done = run(folder, "triton_ensembles", "new", NAME)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"ensembles/{NAME} is ready: build.py demo {NAME}\n"
    assert "wrote .github/workflows/ci.yml\n" in done.stderr
    return folder


def files(project: Path) -> dict[str, str]:
    return {
        path.relative_to(project).as_posix(): path.read_text()
        for path in sorted(project.rglob("*"))
        if path.is_file() and not {"build", "dist", ".ruff_cache", ".pytest_cache", "__pycache__"} & {*path.parts}
    }


def test_the_name_is_wherever_it_belongs(project: Path) -> None:
    texts = files(project)
    assert not [path for path, text in texts.items() if re.search(r"@[A-Z]+@|\bNAME\b(?!/|\.tar)", path + text)]
    assert {f"envs/{NAME}.yml", "tests/test_mood_of_texts_2.py", f"ensembles/{NAME}/make_model.py"} <= {*texts}
    recipe = tomllib.loads(texts[f"ensembles/{NAME}/ensemble.toml"])
    assert recipe["environments"]["text"]["file"] == f"envs/{NAME}.yml"
    assert yaml.safe_load(texts[f"envs/{NAME}.yml"])["name"] == NAME


def test_this_version_is_pinned_and_what_its_engines_need(project: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = (project / "requirements.txt").read_text().splitlines()
    assert lines[0] == f"triton-ensembles[serve]=={__version__}"
    assert lines[1] in extras["build"]  # the same ONNX Runtime
    locked = (ROOT / "requirements" / "requirements.txt").read_text()
    assert re.search(rf"^{re.escape(lines[2])} ", locked, re.MULTILINE)
    hooks = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    (ours,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hooks[0]["additional_dependencies"] == [f"triton-ensembles=={__version__}"]
    assert all(hooks[0][key] == ours[key] for key in ("id", "name", "language", "pass_filenames"))
    jobs = yaml.safe_load((project / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert f"triton-ensembles=={__version__} check --strict" in str(jobs["check"])


def test_it_is_clean_for_the_linters(project: Path) -> None:
    assert run(project, "ruff", "check", "ensembles", "tests").stdout == "All checks passed!\n"
    for settings in ([], ["--isolated"]):  # the project's own, and ruff's
        assert run(project, "ruff", "format", "--check", *settings, "ensembles", "tests").returncode == 0
    for target in ("cpu", "fused"):
        done = run(project, "triton_ensembles", "check", "--strict", "--target", target)
        assert (done.returncode, done.stdout.partition(" (")[0]) == (0, "no faults in 1 repository")


def test_the_makefile_knows_its_commands(project: Path) -> None:
    listed = subprocess.run(["make", "-s"], cwd=project, capture_output=True, text=True, check=True).stdout
    assert " ".join(re.findall(r"make (\w+) ", listed)) == "help check build test demo serve endpoint clean"


@pytest.mark.slow
def test_it_builds_and_passes_its_own_tests(project: Path) -> None:
    done = run(project, "triton_ensembles", "build", "--prove")
    assert done.returncode == 0, done.stderr
    assert "proving that" in done.stderr
    done = run(project, "pytest", "-p", "triton_ensembles.pytest_plugin", "-q")
    assert "3 passed" in done.stdout, done.stdout + done.stderr
    assert (project / "dist" / "cpu" / f"{NAME}.tar.gz").is_file()


def test_a_second_one_goes_to_the_same_project_and_nothing_is_overwritten(project: Path, tmp_path: Path) -> None:
    project = shutil.copytree(project, tmp_path / "project")
    before = files(project)
    done = run(project / "ensembles" / NAME / "preprocess", "triton_ensembles", "new", "second", "--quiet")
    assert done.stdout.startswith(f"{project}/ensembles/second is ")
    added = {*files(project)} - {*before}
    assert "ensembles/second/ensemble.toml" in added and "tests/test_second.py" in added
    assert not [path for path in added if "/" not in path]
    done = run(project, "triton_ensembles", "new", "mood_of_texts_2")  # whose test would have the same name
    assert done.returncode == 1
    assert done.stderr.startswith("error: tests/test_mood_of_texts_2.py exists, and nothing is overwritten; choose ")
    assert {path: text for path, text in files(project).items() if path in before} == before
    assert not (project / "ensembles" / "mood_of_texts_2").exists()
