"""What the parts measure in real servers: cold starts, memory, sizes, and the echo."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from benchmarks import cold, memory
from benchmarks.cold_start import ColdStart, cold_start
from benchmarks.contenders.contender import DRAWN, FUSED, REFERENCE
from benchmarks.echo import write_echo
from benchmarks.memory import ONE_INSTANCE, GrowthPoint, grow
from benchmarks.process_usage import Memory
from benchmarks.sizes import size_without_weights
from tests.endpoint.hosting.archives import ensemble, model, packed
from triton_ensembles.building.built import Built
from triton_ensembles.deploy.payload import Payload, binary
from triton_ensembles.triton.server import TritonServer

_LITTER = "import tempfile; open(tempfile.mkstemp()[1], 'wb').write(bytes(1 << 20))"
_MIB = 2**20


@pytest.fixture
def payload() -> Payload:
    x = http.InferInput("X", [4], "FP32")
    x.set_data_from_numpy(np.zeros(4, np.float32))
    return binary([x], [http.InferRequestedOutput("Y")])


def archive(path: Path, *, initialize: str = "pass") -> Path:
    manifest = {"manifest.json": json.dumps({"ensemble": "pair", "weights": "pretrained"}).encode()}
    path.write_bytes(packed(ensemble("pair", "pair.one") | model("pair.one", initialize) | manifest))
    return path


@pytest.mark.parametrize("initialize, left", [("pass", 0), (_LITTER, _MIB)])
def test_a_cold_start_has_its_times_and_what_the_unload_leaves(
    initialize: str, left: int, payload: Payload, tmp_path: Path
) -> None:
    """Otherwise the page has gaps, or says that nothing is left where a model fills the disk."""
    cold = cold_start(archive(tmp_path / "pair.tar.gz", initialize=initialize), payload)
    assert min(cold.extract, cold.load, cold.first, cold.processor) > 0
    assert cold.total == pytest.approx(cold.extract + cold.load + cold.first)
    assert cold.left == left


def test_clones_load_and_answer_in_one_server(
    payload: Payload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "TURNS", 2)
    one, two = grow(archive(tmp_path / "pair.tar.gz"), [payload], (1, 2), rounds=2, seconds=0.5)
    assert (one.loaded, two.loaded) == (1, 2)
    assert two.memory.pss > one.memory.pss > one.memory.anonymous > 0
    assert one.varied.pss > one.memory.pss / 2
    assert (one.one, one.turns) == ({}, {})
    assert min([*two.one.values(), *two.turns.values()]) > 0
    assert len(two.one) == len(two.turns) == 2


def test_figures_of_memory_are_of_each_ensemble() -> None:
    """Otherwise 64 ensembles are compared with what one may take."""

    def point(loaded: int, mib: int, one: float = 0, turns: float = 0) -> GrowthPoint:
        memory, rates = Memory(mib * _MIB, _MIB, 0), [{1: rate} if rate else {} for rate in (one, turns)]
        return GrowthPoint(loaded, 1.0, memory, memory, *rates)

    grown = {
        FUSED: [point(1, 230)],
        ONE_INSTANCE: [point(1, 150), point(16, 1600, 200, 120), point(64, 5120)],
        DRAWN: [point(1, 300), point(16, 4000, 100, 52)],
    }
    expected = {"memory_fused_1": 150, "memory_fused_2": 230, "memory_drawn": 300, "memory_16": 100, "memory_64": 80}
    assert memory.figures(grown) == pytest.approx(expected | {"turns_fused": 0.6, "turns_drawn": 0.52})
    for table in (memory.memory_table(grown), memory.turns_table(grown)):
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_cold_starts_are_compared_within_a_round() -> None:
    def took(seconds: float, left: int = 0) -> ColdStart:
        return ColdStart(seconds, 0, 0, 1, left)

    rounds = {
        FUSED: [took(1), took(2), took(4)],
        DRAWN: [took(2), took(4), took(8, left=3_000)],
        cold.BEFORE: [took(4), took(8), took(8)],
        REFERENCE: [took(20), took(40), took(20)],
    }
    expected = {"cold_fused": 0.25, "cold_drawn": 0.5, "cold_reference": 10, "left_fused": 0, "left_drawn": 3}
    assert cold.figures(rounds) == pytest.approx(expected)
    assert {len(row) for row in cold.table(rounds).rows} == {len(cold.table(rounds).header)}


def test_an_archive_without_its_weights_is_smaller_by_them(built: dict[str, Built]) -> None:
    """Also by the mapped ones, which are another file than the graph."""
    each = built["bert_trt"]
    weights = sum(path.stat().st_size for path in each.repository.glob("*.bert-trt/1/model.*"))
    assert each.archive.stat().st_size - size_without_weights(each.repository) == pytest.approx(weights, rel=0.1)


def test_the_echo_answers_as_many_bytes_as_the_ensemble(tmp_path: Path) -> None:
    """Otherwise the floor is what a smaller answer takes."""
    fused = tmp_path / "pair"
    (fused / "pair").mkdir(parents=True)
    (fused / "pair" / "config.pbtxt").write_text(
        'name: "pair" backend: "python" max_batch_size: 8 dynamic_batching {}\n'
        'input { name: "X" data_type: TYPE_STRING dims: 1 }\n'
        'output { name: "Y" data_type: TYPE_FP32 dims: 384 }\n'
        'instance_group { count: 2 kind: KIND_CPU } parameters { key: "fused_plan" value { string_value: "0" } }'
    )
    x = http.InferInput("X", [3, 1], "BYTES")
    x.set_data_from_numpy(np.array([[b"a"], [b"b"], [b"c"]], object))
    with (
        TritonServer([write_echo(fused)], log=tmp_path / "log") as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        answer = client.infer("pair_echo", [x]).as_numpy("Y")
    assert (answer.shape, answer.dtype) == ((3, 384), np.float32)
