"""Where the slowest requests spent their time: the real server's traces of steps that are slow now and then."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import chain
from tests.repositories import write_chain, write_ensemble
from triton_ensembles.building.places import Places
from triton_ensembles.commands.perf import perf

pytestmark = pytest.mark.slow


def test_the_step_that_is_slow_now_and_then_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Means hide it: one in thirty requests waits for it. ``nine`` has an ensemble as a step, and a step twice."""
    models = write_chain(tmp_path / "models")
    write_ensemble(models, "nine", ["six", "triple"])
    python = models / "triple" / "1" / "model.py"
    sleep = "global COUNT\n        COUNT += 1\n        time.sleep(0.3 if COUNT % 31 == 0 else 0.002)"
    code = python.read_text().replace("return [", f"{sleep}\n        return [", 1)
    python.write_text(f"import time\n\n{code}\n\nCOUNT = 0\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["./models", "--concurrency", "2", "--seconds", "6", "--slowest", "--format", "json"]
    result = CliRunner().invoke(perf, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (report,) = json.loads(result.stdout)["reports"]
    (slowest,) = report["slowest"]
    double, triple = slowest["steps"]
    assert (double["step"], triple["step"]) == ("double", "triple")
    assert slowest["slowest"] == round(slowest["requests"] / 100)
    assert slowest["mean_ms"] >= slowest["least_ms"] > 300
    assert triple["compute_ms"] + triple["queue_ms"] > double["compute_ms"] + double["queue_ms"]
    p50, p90, p99 = triple["quantiles_ms"]
    assert 4 <= p50 <= p90 <= p99 and p99 > 300  # it is two steps of 2 ms
    assert sum(step["queue_ms"] + step["compute_ms"] for step in slowest["steps"]) <= slowest["mean_ms"] * 1.001


def test_of_a_fused_ensemble_too(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps are no models for Triton; ``second`` takes 10 ms, ``first`` two, and four clients share an instance."""
    built = chain.build_fused_chain(tmp_path / "project", places.store, instances=1)
    monkeypatch.chdir(tmp_path)
    arguments = ["--concurrency", "4", "--seconds", "2", "--slowest", "--format", "json"]
    result = CliRunner().invoke(perf, [str(built.archive), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    (slowest,) = json.loads(result.stdout)["reports"][0]["slowest"]
    steps = {step["step"]: step for step in slowest["steps"]}
    assert list(steps) == ["queue", *chain.STEPS]
    for step, least in chain.SLEEPS_MS.items():
        assert steps[step]["compute_ms"] >= least and steps[step]["quantiles_ms"][0] >= least
    assert steps["queue"]["queue_ms"] > 0
    assert sum(step["queue_ms"] + step["compute_ms"] for step in slowest["steps"]) <= slowest["mean_ms"] * 1.001
