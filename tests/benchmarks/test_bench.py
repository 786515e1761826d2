"""A tiny run of the real thing."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench import bench
from benchmarks.contenders.contender import DRAWN, ECHO, ENGINE, ENGINE_ONE_THREAD, FUSED
from benchmarks.floor import floor
from benchmarks.parts import BATCHES, ONE
from benchmarks.results import read_results
from triton_ensembles.building.built import Built


def test_what_the_floor_is_made_of_and_both_forms_are_measured(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise `make bench` ends after half an hour without a report."""
    lines: list[str] = []
    groups = ["engine", "echo", "fused", "drawn"]
    bench("one", groups, rounds=1, seconds=0.5, path=tmp_path / "one.json", progress=lines.append)
    results = read_results(tmp_path / "one.json")
    assert [(each.contender, each.load) for each in results.measured] == [
        (ENGINE, BATCHES[ONE]),
        (ENGINE_ONE_THREAD, BATCHES[ONE]),
        (ECHO, ONE),
        (FUSED, ONE),
        (DRAWN, ONE),
    ]
    for each in results.measured:
        assert each.cell.throughput > 0
        assert 0 < each.cell.latency_ms["p50"] <= each.cell.latency_ms["p99"]
    assert set(results.cells(DRAWN, ONE)[1].cpu) == {"client", "server", "preprocess", "bert-trt", "postprocess"}
    assert set(results.cells(FUSED, ONE)[1].cpu) == {"client", "server", "bert_trt"}
    assert floor(results, ONE)[1] > 0
    assert results.facts["weights"] == {"bert_trt": built["bert_trt"].manifest["weights"]}
    assert any("fused: 1 short sentence per request, one at a time" in line for line in lines)
