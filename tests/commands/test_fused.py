"""The commands that take a built ensemble, with a fused one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from tests import chain
from tests.commands.projects import run_in, succeeded
from tests.running import outcome
from triton_ensembles.building.built import Built

Run = Callable[..., Result]


@pytest.fixture
def run(fused_chain: Built) -> Run:
    """``run("list", "--target", "fused")`` in the project of the fused chain."""
    return partial(run_in, fused_chain.archive.parents[2])


def test_demo_serves_the_archive_that_was_built(fused_chain: Built, run: Run) -> None:
    shown = succeeded(run("demo", "--target", "fused"))
    assert f"sha256 {fused_chain.sha256[:12]}…  unchanged, nothing to do" in shown.output
    assert "one_row.json\n  Y FP32 [1, 3]" in shown.output


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
    shown = succeeded(run("diff", "cpu", "fused"))
    assert '-platform: "ensemble"' in shown.output
    assert "+first (python): X=X -> Y=T1" in shown.output
    assert "+second (python): X=T1 -> Y=Y" in shown.output


def test_make_passes_the_target_on_and_the_one_archive_of_a_single_model_endpoint() -> None:
    """It only prints what it would run, in a project that is set up."""
    names = "build-ensembles serve-local perf demo check upload deploy invoke"
    fused = (
        *(f"{name} --weights auto --target fused --image 24.09" for name in ("build", "serve", "perf", "demo")),
        "check --target fused --image 24.09",
        "upload --endpoint triton-ensembles --target fused",
        "deploy --endpoint triton-ensembles --target fused --image 24.09",
        "invoke --endpoint triton-ensembles --target fused",
    )
    alone = ("build digits --single", "upload --endpoint triton-ensembles --target cpu digits --single")
    for words, commands in ((f"{names} TARGET=fused IMAGE=24.09", fused), ("deploy SINGLE=digits", alone)):
        printed = " ".join(outcome("make", "-n", "-o", ".venv/ready", *words.split()).stdout.split())
        assert [command for command in commands if f"build.py {command}" not in printed] == []
    for words, code in (("TARGET=gpu", 2), ("TARGET=fused", 0), ("TARGET=cpu", 0)):
        assert outcome("make", "not-gpu", words).returncode == code
