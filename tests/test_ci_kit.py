"""What other repositories take from this one: the pre-commit hook, the GitHub Action, and the page about them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from checkout import ROOT
from tests.checking.reports import MISSING, NEGATIVE, write_model
from tests.docs.blocks import blocks_of
from tests.running import outcome
from triton_ensembles.checking.examples import python_model
from triton_ensembles.commands.cli import main

_PAGE = ROOT / "docs" / "ci.md"
_ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
_STEPS: list[dict[str, Any]] = _ACTION["runs"]["steps"]
# Stands for uv: runs this checkout instead of an installed package.
_UVX = f"""#!/bin/sh
[ "$1 $3 $4" = "--from triton-ensembles check" ] || exit 99
echo "$2" > "$RUNNER_TEMP/from"
shift 3
PYTHONPATH="{ROOT}" exec "{sys.executable}" -m triton_ensembles "$@"
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The folder of a job: a git repository, and beside it what the runner brings."""
    runner = tmp_path / "runner"
    runner.mkdir()
    (runner / "uvx").write_text(_UVX)
    (runner / "uvx").chmod(0o755)
    folder = tmp_path / "job"
    (folder / ".git").mkdir(parents=True)
    return folder


def run_action(job: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], Path | None]:
    """Run the script of the action as GitHub does; returns the SARIF log that it would upload."""
    runner = job.parent / "runner"
    (runner / "output").write_text("")
    values = {name: str(each["default"]) for name, each in _ACTION["inputs"].items()} | {
        name.replace("_", "-"): value for name, value in inputs.items()
    }
    (step,) = (step for step in _STEPS if "run" in step)
    environment = {"RUNNER_TEMP": str(runner), "GITHUB_OUTPUT": str(runner / "output")}
    for name, value in step["env"].items():
        found = re.fullmatch(r"\$\{\{ (?:inputs\.([a-z-]+)|github\.action_path) \}\}", value)
        assert found, value
        environment[name] = values[found[1]] if found[1] else "the-action"
    (runner / "script").write_text(step["run"])
    environment["PATH"] = f"{runner}:{os.environ['PATH']}"
    done = outcome("bash", "--noprofile", "--norc", "-eo", "pipefail", runner / "script", cwd=job, **environment)
    output = (runner / "output").read_text().strip()
    return done, Path(output.removeprefix("sarif-file=")) if output else None


def test_the_action_uploads_the_faults_and_fails(job: Path) -> None:
    """Otherwise the pull request is green, or shows no alert."""
    write_model(job / "models", NEGATIVE)
    write_model(job / "models", python_model(f"# check: ignore[version-missing] next week\n{MISSING}"), "later")
    done, log = run_action(job, path="models")
    assert done.returncode == 1 and "error[max-batch-size-negative]" in done.stdout, done.stderr
    assert log is not None
    results = json.loads(log.read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["max-batch-size-negative"]  # none of those that are suppressed
    assert (job.parent / "runner" / "from").read_text() == "the-action\n"


def test_the_action_annotates_without_a_permission(job: Path) -> None:
    """Otherwise repositories without code scanning cannot use it."""
    write_model(job / "models", NEGATIVE)
    done, log = run_action(job, path="models", upload_sarif="false", version="0.2.0")
    assert done.returncode == 1 and done.stdout.startswith("::error file=models/scale/config.pbtxt,line=2,") and not log
    assert (job.parent / "runner" / "from").read_text() == "triton-ensembles==0.2.0\n"


def test_the_action_passes_without_errors_whatever_the_names_are(job: Path) -> None:
    """Otherwise a name breaks the script, or runs in it."""
    write_model(job / "a b", python_model())
    write_model(job / "$(touch hacked)", python_model())
    done, log = run_action(job, path="a b\n\n$(touch hacked)\n", args="--image\n24.09")
    assert done.returncode == 0 and "in 2 repositories" in done.stdout, done.stdout + done.stderr
    assert log is not None and "version-missing" not in log.read_text()
    assert not (job / "hacked").exists()
    done, log = run_action(job, path="absent")
    assert done.returncode == 2 and not log, "a misspelled path would close all alerts"


def test_the_action_pins_what_it_uses_and_keeps_expressions_out_of_its_script() -> None:
    """Otherwise a moved tag, or a pull request's title, runs code in the caller's job."""
    for step in _STEPS:
        assert "${{" not in step.get("run", "")
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}")), step
        assert ("run" in step) == ("shell" in step)
    assert "secrets." not in (ROOT / "action.yml").read_text()


def test_the_hook_runs_when_something_of_a_repository_changes() -> None:
    """Otherwise a broken config is committed, or every commit to the documentation waits."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["language"], hook["pass_filenames"], hook["require_serial"]) == ("python", False, True)
    program, *words = shlex.split(hook["entry"])
    assert program == "triton-ensembles" and main.get_command(click.Context(main), words[0])
    changed = ["config.pbtxt", "models/a/config.pbtxt", "a/1/model.py", "a/12/model.onnx", "ensembles/x/ensemble.toml"]
    assert [path for path in changed if not re.search(hook["files"], path)] == []
    assert [path for path in ("README.md", "src/server.py", "a/v1/x.txt") if re.search(hook["files"], path)] == []


def test_the_workflows_of_the_page_are_yaml_and_name_what_exists() -> None:
    """Otherwise what people copy from it fails."""
    pages = [yaml.safe_load(block.text) for block in blocks_of(_PAGE) if block.kind == "yaml"]
    assert len(pages) == 2
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert pages[0]["repos"][0]["hooks"][0]["id"] == hooks[0]["id"]
    # YAML 1.1 reads the key "on" as true.
    assert set(pages[1]) == {True, "permissions", "jobs"}
    assert set(pages[1]["jobs"]["check"]["steps"][-1]["with"]) <= set(_ACTION["inputs"])
