"""The figures on cold starts and memory, from what the real server does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http
from benchmarks.start import size_without_weights
from benchmarks.start_cold import NO_AUTO_COMPLETE, ColdStart, cold_start
from benchmarks.start_growth import GrowthPoint, grow

from benchmarks import start_tables as tables
from benchmarks.examples import sentences
from tests.endpoint.hosting.archives import ensemble, model, packed
from triton_ensembles.building.build import Built
from triton_ensembles.deploy.payload import binary

TEXT = sentences(["A cat sleeps on the sofa."])


@pytest.mark.parametrize("flags", ["", NO_AUTO_COMPLETE])
def test_a_cold_start_has_its_times_and_the_memory_of_every_process(flags: str, built: dict[str, Built]) -> None:
    """Otherwise the page has gaps, or adds the memory of two steps up."""
    cold = cold_start(built["bert_trt"].archive, TEXT, flags)
    assert min(cold.extract, cold.load, cold.first, cold.second, cold.processor) > 0
    assert cold.total == pytest.approx(cold.extract + cold.load + cold.first)
    assert set(cold.memory) == {"server", "preprocess", "bert-trt", "postprocess"}
    assert min(cold.memory.values()) > 1 << 20


def test_an_archive_without_its_weights_is_smaller_by_them(built: dict[str, Built]) -> None:
    each = built["bert_trt"]
    weights = next(each.repository.glob("*.bert-trt/1/model.onnx")).stat().st_size
    assert each.archive.stat().st_size - size_without_weights(each.repository) == pytest.approx(weights, rel=0.1)


def test_clones_load_and_answer_in_one_server(tmp_path: Path) -> None:
    manifest = {"manifest.json": json.dumps({"ensemble": "pair", "weights": "pretrained"}).encode()}
    files = ensemble("pair", "pair.one") | model("pair.one") | manifest
    (tmp_path / "pair.tar.gz").write_bytes(packed(files))
    x = http.InferInput("X", [4], "FP32")
    x.set_data_from_numpy(np.zeros(4, np.float32))
    payload = binary([x], [http.InferRequestedOutput("Y")])
    one, two = grow(tmp_path / "pair.tar.gz", payload, (1, 2), seconds=1, rounds=1)
    assert (one.loaded, two.loaded) == (1, 2)
    assert two.memory > one.memory
    assert min(one.throughput, two.throughput) > 0


def test_ratios_compare_neighbors_in_time_and_tables_are_rectangular() -> None:
    def took(seconds: float) -> ColdStart:
        return ColdStart(seconds, 0, 0, 0, 1, {"server": 1 << 20, "one": 2 << 20})

    ours, theirs = [took(1), took(2), took(4)], [took(10), took(20), took(20)]
    assert tables.ratio(ours, theirs) == 10
    rounds = {"ours": ours, "theirs": theirs}
    made = [
        tables.cold_starts(rounds),
        tables.sizes({"ours": (2_000_000, 1_000_000)}),
        tables.memory(rounds),
        tables.growth("ours", [GrowthPoint(1, 1.0, 1 << 20, 100), GrowthPoint(4, 1.0, 1 << 22, 50)]),
    ]
    for table in made:
        assert {len(row) for row in table.rows} == {len(table.header)}
    assert made[2].rows[0] == ["ours", "3", "server 1, one 2"]
    assert made[3].rows[1][-1] == "0.50"
