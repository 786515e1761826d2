"""The commands that take a built ensemble, with a fused one."""

import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests import chain
from tests.commands.conftest import Run
from tests.commands.projects import run_in
from tests.running import outcome
from triton_ensembles.building.built import Built


@pytest.fixture
def run(fused_chain: Built) -> Run:
    """``run("list", "--target", "fused")`` in the project of the fused chain."""
    return partial(run_in, fused_chain.archive.parents[2])


def test_demo_serves_the_archive_that_was_built(fused_chain: Built, run: Run) -> None:
    shown = run("demo", "--target", "fused")
    assert shown.exit_code == 0, shown.output
    assert f"sha256 {fused_chain.sha256[:12]}…  unchanged, nothing to do" in shown.output
    assert "one_row.json\n  Y FP32 [1, 3]" in shown.output


def test_perf_measures_it_into_a_folder_of_its_own(fused_chain: Built, run: Run) -> None:
    """Otherwise the report of one form replaces that of the other."""
    measured = run("perf", "--target", "fused", "--concurrency", "1", "--seconds", "1")
    assert measured.exit_code == 0, measured.output
    assert "queue" in measured.output.partition("by step")[2]
    reports = fused_chain.archive.parents[2] / "reports" / "perf"
    assert (reports / "fused" / "chain.json").is_file() and not (reports / "chain.json").exists()


@pytest.mark.parametrize("command", ["serve", "demo", "perf"])
def test_archives_for_a_gpu_are_not_served_here(run: Run, command: str) -> None:
    refused = run(command, "--target", "gpu", "--image", "24.09")
    assert refused.exit_code == 2
    assert "--target gpu is served by NVIDIA's image" in refused.output


def test_an_image_with_an_old_python_is_refused(run: Run) -> None:
    refused = run("build", "--target", "fused", "--image", "23.04")
    assert refused.exit_code == 2
    assert "has Python 3.8, and a fused ensemble needs 3.10" in refused.output and "choose 23.05" in refused.output


def test_list_shows_what_is_in_it(fused_chain: Built, run: Run) -> None:
    shown = run("list", "--target", "fused").output
    assert "steps: first (python) -> second (python)" in shown
    assert "environment fused (wheels)" in shown and "numpy" in shown
    assert f"weights {fused_chain.manifest['weights']}, sha256 {fused_chain.sha256}" in shown
    assert "not built, or the archive is damaged: build.py build --target gpu" in run("list", "--target", "gpu").output


def test_graph_draws_the_same_dag_from_the_source_the_archive_and_the_repository(fused_chain: Built, run: Run) -> None:
    """A fused archive has no DAG in its config any more, but its plan has."""
    drawn = run("graph", chain.NAME)
    assert drawn.exit_code == 0 and "first<br/>python" in drawn.output
    for path in (fused_chain.archive, fused_chain.repository):
        assert run("graph", path).output == drawn.output


def test_graph_of_a_damaged_plan_is_one_line(fused_chain: Built, run: Run, tmp_path: Path) -> None:
    model = tmp_path / "chain"
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_bytes((fused_chain.repository / "chain" / "config.pbtxt").read_bytes())
    missing = run("graph", tmp_path)
    assert "plan.json of this fused ensemble is missing" in missing.output
    assert "build.py graph NAME" in missing.output
    (model / "1" / "plan.json").write_text('{"steps": [1]}')
    damaged = run("graph", tmp_path)
    assert damaged.exit_code == 1
    assert "plan.json of 'chain' is not the plan of a fused ensemble" in damaged.output


def test_diff_shows_the_one_model_that_the_dag_becomes(run: Run) -> None:
    shown = run("diff", "cpu", "fused")
    assert shown.exit_code == 0, shown.output
    assert '-platform: "ensemble"' in shown.output
    assert "+first (python): X=X -> Y=T1" in shown.output
    assert "+second (python): X=T1 -> Y=Y" in shown.output


def test_check_finds_nothing_wrong_with_it(fused_chain: Built, run: Run) -> None:
    for words in (("check", fused_chain.archive), ("check", "--target", "fused")):
        checked = run(*words)
        assert checked.exit_code == 0, checked.output
        assert checked.output.startswith("no faults in 1 repository")


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return outcome("make", "--no-print-directory", *words)


def test_make_passes_the_target_on() -> None:
    """It only prints what it would run, in a project that is set up."""
    names = ("build-ensembles", "serve-local", "perf", "demo", "check", "upload", "deploy", "invoke")
    done = make("-n", "-o", ".venv/ready", *names, "TARGET=fused", "IMAGE=24.09")
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    for command in (
        *(f"{name} --weights auto --target fused --image 24.09" for name in ("build", "serve", "perf", "demo")),
        "check --target fused --image 24.09",
        "upload --endpoint triton-ensembles --target fused",
        "deploy --endpoint triton-ensembles --target fused --image 24.09",
        "invoke --endpoint triton-ensembles --target fused",
    ):
        assert f"build.py {command}" in printed


def test_make_has_an_archive_for_a_single_model_endpoint_checked_for_it_before_it_is_built() -> None:
    printed = " ".join(make("-n", "-o", ".venv/ready", "deploy", "SINGLE=digits").stdout.split())
    for command in ("build digits --single", "upload --endpoint triton-ensembles --target cpu digits --single"):
        assert f"build.py {command}" in printed


def test_make_refuses_to_serve_for_a_gpu() -> None:
    for words, code in ((["TARGET=gpu"], 2), (["TARGET=fused"], 0), ([], 0)):
        assert make("not-gpu", *words).returncode == code
