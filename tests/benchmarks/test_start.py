"""The figures on cold starts and memory: read out of what the real server says and does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from benchmarks import start_tables as tables
from benchmarks.examples import sentences
from benchmarks.start_cold import NO_AUTO_COMPLETE, ColdStart, cold_start
from benchmarks.start_growth import Grown, grow
from benchmarks.start_log import Load, read_load
from benchmarks.start_size import size_without_weights
from tests.endpoint.hosting.archives import ensemble, model, packed
from triton_ensembles.building.build import Built
from triton_ensembles.deploy.payload import binary

TEXT = sentences(["A cat sleeps on the sofa."])
STEPS = {"bert_trt.preprocess", "bert_trt.bert-trt", "bert_trt.postprocess"}
STUB = "source /tmp/python_env_A1/{0}/bin/activate && exec env LD_LIBRARY_PATH=/tmp/python_env_A1/{0}/lib stub /m/x.py"
LOG = "\n".join(
    f'I1121 {time} 77 {source}:1] "{text}"'
    for time, source, text in (
        ("23:59:58.000000", "pb_env.cc", "Extracting Python execution env /m/a/env.tar.gz"),
        (
            "23:59:59.000000",
            "stub_launcher.cc",
            f"Starting Python backend stub: {STUB.format(0)} shm a.one_0_0 DEFAULT",
        ),
        ("23:59:59.500000", "pb_env.cc", "Extracting Python execution env /m/b/env.tar.gz"),
        (
            "00:00:01.500000",
            "stub_launcher.cc",
            f"Starting Python backend stub: {STUB.format(1)} shm a.two_0_0 DEFAULT",
        ),
        (
            "00:00:02.000000",
            "python_be.cc",
            "TRITONBACKEND_ModelInstanceInitialize: instance initialization successful a.one_0_0 (device 0)",
        ),
    )
)


@pytest.fixture(scope="module", params=["", NO_AUTO_COMPLETE])
def cold(request: pytest.FixtureRequest, built: dict[str, Built]) -> ColdStart:
    return cold_start(built["bert_trt"].archive, TEXT, flags=request.param, with_phases=not request.param)


def test_a_cold_start_is_told_apart_by_step(cold: ColdStart) -> None:
    assert min(cold.extract, cold.load, cold.first, cold.second, cold.processor) > 0
    assert len(cold.details.environments) == 1  # one for two steps
    assert set(cold.details.steps) == STEPS
    for step in cold.details.steps.values():
        assert list(step.instances.values()) > [0]
        assert max(step.instances.values()) <= cold.load
        assert (step.environment is None) == (step.config["backend"] != "python")
    completed = [step.auto_complete > 1 for step in cold.details.steps.values()]  # Triton sleeps a second in each
    assert completed == [bool(cold.phases)] * 3
    assert set(cold.phases) in (STEPS, set())
    assert set(cold.memory) == {*STEPS, "tritonserver"}
    assert min(cold.memory.values()) > 1 << 20


def test_environments_are_extracted_one_after_the_other_also_at_midnight() -> None:
    load = read_load(LOG)
    assert load.environments == pytest.approx([1, 2])
    assert load.steps["a.one"].instances["a.one_0_0"] == pytest.approx(3)
    assert load.steps["a.one"].auto_complete == 0


def test_an_archive_without_its_weights_is_smaller_by_them(built: dict[str, Built]) -> None:
    each = built["bert_trt"]
    weights = next(each.repository.glob("*.bert-trt/1/model.onnx")).stat().st_size
    without = size_without_weights(each.repository, each.repository.parent)
    assert each.archive.stat().st_size - without == pytest.approx(weights, rel=0.1)


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


def test_ratios_compare_neighbours_in_time_and_tables_are_rectangular() -> None:
    def took(seconds: float) -> ColdStart:
        return ColdStart(seconds, 0, 0, 0, 1, Load(), {}, {"tritonserver": 1 << 20})

    ours, theirs = [took(1), took(2), took(4)], [took(10), took(20), took(20)]
    assert tables.ratio(ours, theirs, lambda cold: cold.total) == 10
    rounds = {"ours": ours, "theirs": theirs}
    made = [
        tables.cold_starts(rounds),
        tables.memory(rounds),
        tables.sizes({"ours": tables.Size(2_000_000, 1_000_000)}),
    ]
    made.append(tables.growth("ours", [Grown(1, 1.0, 1 << 20, 100), Grown(4, 1.0, 1 << 22, 50)]))
    for table in made:
        assert {len(row) for row in table["rows"]} == {len(table["header"])}
    assert made[-1]["rows"][1][-1] == "0.50"
