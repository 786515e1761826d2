"""Rates, ratios, and what is kept of a run."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cells import rate
from benchmarks.contenders.contender import ALL_CORES, FUSED, ONE_THREAD, PEER_NAMES
from benchmarks.examples import lowest_cosine
from benchmarks.parts import BATCH, BATCHES, ONE
from benchmarks.results import joined, ratio_of, read_parts, read_results
from benchmarks.tables import Table
from benchmarks.variants import with_one_instance, with_precision, with_wheels
from checkout import ENSEMBLES
from tests.benchmarks.runs import run_of
from triton_ensembles.ground.errors import EnsembleError


def test_a_ratio_is_the_median_of_rounds_that_have_both() -> None:
    assert ratio_of({1: 10.0, 2: 40.0, 3: 90.0, 4: 1.0}, {1: 10.0, 2: 20.0, 3: 30.0, 5: 1.0}) == 2
    assert ratio_of({1: 1.0}, {2: 1.0}) is None


def test_the_best_has_the_highest_median() -> None:
    batch = BATCHES[BATCH]
    results = run_of({(ALL_CORES, batch): [100, 1, 90], (ONE_THREAD, batch): [95, 96, 97]})
    assert results.best([ALL_CORES, ONE_THREAD], batch) == {1: 95, 2: 96, 3: 97}
    assert results.best(PEER_NAMES, batch) == {}


def test_bursts_do_not_round_a_rate() -> None:
    """Otherwise 32 images answered at once every two seconds are 0, 16 or 32 per second, by chance."""
    times = [burst * 2.0 + number * 0.001 for burst in range(3) for number in range(32)]
    assert rate(times, list(range(len(times)))) == pytest.approx(16, rel=0.05)
    with pytest.raises(EnsembleError, match="too few requests were answered"):
        rate([1.0], [1])


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Otherwise the page shows a different run than was measured."""
    results = run_of({(FUSED, BATCH): [1.5, 2.5], (ALL_CORES, BATCHES[BATCH]): [3.0]})
    results.missing["a peer"] = "no network"
    results.tables.append(Table("Archives", ["", "MB"], [["bert_trt", "1.0"]]))
    results.write(tmp_path / "batch.json")
    assert read_results(tmp_path / "batch.json") == results
    assert [path.name for path in tmp_path.iterdir()] == ["batch.json"]


def test_parts_that_were_measured_at_different_times_are_joined(tmp_path: Path) -> None:
    """Otherwise figures taken piece by piece make no page."""
    one, batch = run_of({(FUSED, ONE): [1.0]}), run_of({(FUSED, BATCH): [2.0]})
    one.figures, batch.figures = {"memory_16": 1.0}, {"cold_fused": 2.0}
    one.write(tmp_path / "one.json")
    batch.write(tmp_path / "batch.json")
    parts = read_parts(tmp_path, ["one", "many", "batch"])
    assert [*parts] == ["one", "batch"]
    whole = joined(parts.values())
    assert (whole.rates(FUSED, ONE), whole.rates(FUSED, BATCH)) == ({1: 1.0}, {1: 2.0})
    assert whole.figures == {"memory_16": 1.0, "cold_fused": 2.0}


def test_variants_change_one_option_of_a_recipe() -> None:
    """Otherwise a variant measures what the ensemble itself has, or something that it is not called after."""
    text = (ENSEMBLES / "bert_trt" / "ensemble.toml").read_text()
    original = tomllib.loads(text)
    for edit, table, change in (
        (partial(with_precision, "bf16"), "engines", {"backend": "openvino", "precision": "bf16"}),
        (with_one_instance, "engines", {"instances": 1}),
        (with_wheels, "environments", {"kind": "wheels"}),
    ):
        (name,) = original[table]
        assert tomllib.loads(edit(text)) == original | {table: {name: original[table][name] | change}}
    assert with_precision("bf16", 'description = ""\n') == 'description = ""\n'


def test_the_lowest_cosine_is_that_of_the_worst_row() -> None:
    exact = np.eye(3)
    other = 2 * exact
    other[0] = [0.6, 0.8, 0]
    assert lowest_cosine(exact, other) == pytest.approx(0.6)
