"""Medians, ratios and goals computed from measurements."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.bf16 import agreement, with_bf16

from benchmarks.cells import percentiles, rate
from benchmarks.contenders.contender import ALL_CORES, ONE_THREAD, OURS, PEER_NAMES
from benchmarks.goals import GOALS, start_verdicts, verdicts
from benchmarks.loads import Load
from benchmarks.results import read_results
from tests.benchmarks.runs import run_of
from triton_ensembles.errors import EnsembleError

SERVED, BATCH = Load("short", 32, 8), Load("short", 32, 0)


def test_a_ratio_compares_each_round_with_itself() -> None:
    """Otherwise a machine that slows down during the run decides who wins."""
    results = run_of({(OURS, SERVED): [90, 45, 9], (ALL_CORES, BATCH): [100, 50, 10], (ONE_THREAD, BATCH): [1, 1, 1]})
    ratio = results.ratio((OURS, SERVED), [(ALL_CORES, BATCH), (ONE_THREAD, BATCH)])
    assert ratio is not None
    assert (ratio.median, ratio.lowest, ratio.highest) == (0.9, 0.9, 0.9)


def test_the_limit_is_the_better_median() -> None:
    """Otherwise the goals are compared with the slower thread setting."""
    results = run_of({(ALL_CORES, BATCH): [100, 1, 90], (ONE_THREAD, BATCH): [95, 96, 97]})
    assert results.best([(ALL_CORES, BATCH), (ONE_THREAD, BATCH)]) == (ONE_THREAD, BATCH)


def test_goals_are_met_missed_or_not_measured() -> None:
    """Otherwise a goal that was not measured counts as met, or a missed one is left without its reason."""
    single = Load("short", 1, 32)
    results = run_of(
        {
            (OURS, SERVED): [94, 94, 94],
            (ALL_CORES, BATCH): [100, 100, 100],
            (OURS, single): [90, 90, 90],
            (PEER_NAMES[0], single): [60, 60, 60],
        }
    )
    found = [verdict.result for verdict in verdicts(results)]
    assert found[:4] == ["missed", "met", "met", "not measured"]
    assert len(found) == len(GOALS)


def test_a_missed_goal_is_a_sentence_with_its_reason() -> None:
    """Otherwise a reader of the page sees a number below a threshold, and nothing to make of it."""
    one, limit = Load("short", 1, 1), Load("short", 1, 0)
    verdict = verdicts(run_of({(OURS, one): [50], (ALL_CORES, limit): [100]}))[list(GOALS).index("one_limit")]
    assert verdict.goal == (
        "1 short sentence per request, one at a time: the throughput is at least 0.75 times that of the limit on all "
        "cores, one at a time"
    )
    assert verdict.result.startswith("missed: gRPC and the Python steps take a third of the time")


def test_accuracy_of_bf16_is_a_goal() -> None:
    """Otherwise a faster ensemble with different answers passes."""
    results = run_of({})
    results.agreement["bert_trt"] = {"lowest_cosine": 0.9994}
    results.agreement["dali_inception"] = {"lowest_cosine": 0.9996, "same_top_1": 0.5}
    assert [verdict.result for verdict in verdicts(results)][-3:] == ["missed", "met", "missed"]


def test_goals_of_start_and_size() -> None:
    """Otherwise the page lacks cold start and archive size, or counts what was not measured as met."""
    deployed, cold, size = start_verdicts({"cold_start_deployed": 12.5, "cold_start": 9.5})
    assert (deployed.measured, deployed.result) == ("12.5", "met")
    assert (cold.measured, cold.result) == ("9.5", "missed")
    assert size.result == "not measured"


def test_bursts_do_not_round_a_rate() -> None:
    """Otherwise 32 images answered at once every two seconds are 0, 16 or 32 per second, by chance."""
    times = [burst * 2.0 + number * 0.001 for burst in range(3) for number in range(32)]
    assert rate(times, list(range(len(times)))) == pytest.approx(16, rel=0.05)
    with pytest.raises(EnsembleError, match="too few requests were answered"):
        rate([1.0], [1])


def test_percentiles_are_milliseconds() -> None:
    assert percentiles([0.001, 0.002, 0.003])["p50"] == pytest.approx(2)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Otherwise the page shows a different run than was measured."""
    results = run_of({(OURS, SERVED): [1.5, 2.5], (ALL_CORES, BATCH): [3.0]})
    results.missing["a peer"] = "no network"
    results.write(tmp_path / "results.json")
    assert read_results(tmp_path / "results.json") == results
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_bf16_is_put_into_every_engine_of_a_recipe(tmp_path: Path) -> None:
    """Otherwise "ours bf16" computes in fp32, or is refused because its backend cannot compute in bf16."""
    recipe = '[engines.bert-trt]\nbackend = "onnxruntime"\nprecision = "fp32"\n\n[engines."other"]\nbackend = "x"\n'
    chosen = 'backend = "openvino"\nprecision = "bf16"\n'
    assert with_bf16(recipe, tmp_path) == f'[engines.bert-trt]\n{chosen}\n[engines."other"]\n{chosen}'
    with pytest.raises(EnsembleError, match=r"no \[engines.STEP\] table"):
        with_bf16('description = ""\n', tmp_path)


def test_agreement_sees_a_different_class() -> None:
    """Otherwise an answer with a different class passes as a small difference."""
    import numpy as np

    exact = np.eye(3)
    other = exact.copy()
    other[0] = [0.6, 0.8, 0]
    found = agreement(exact, other, classes=True)
    assert found["lowest_cosine"] == pytest.approx(0.6)
    assert found["same_top_1"] == pytest.approx(2 / 3, abs=1e-3)
    assert agreement(exact, exact, classes=False) == {"lowest_cosine": 1.0}
