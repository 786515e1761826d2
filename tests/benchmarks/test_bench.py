"""A tiny run of the real thing."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench import bench
from benchmarks.contenders.contender import ALL_CORES, ONE_THREAD, OURS
from benchmarks.loads import Load
from benchmarks.results import read_results
from triton_ensembles.building.build import Built

SERVED, BATCH = Load("short", 1, 8), Load("short", 8, 0)


def test_limit_and_ours_are_measured(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise `make bench` ends after half an hour without a report."""
    lines: list[str] = []
    bench(["limit", "ours"], [SERVED.name, BATCH.name], rounds=1, seconds=0.5, output=tmp_path, progress=lines.append)
    results = read_results(tmp_path / "results.json")
    assert [(each.contender, each.load) for each in results.measured] == [
        (OURS, SERVED),
        (ALL_CORES, BATCH),
        (ONE_THREAD, BATCH),
    ]
    for each in results.measured:
        assert each.cell.throughput > 0
        assert 0 < each.cell.latency_ms["p50"] <= each.cell.latency_ms["p99"]
    ours = results.cells(OURS, SERVED)[1]
    assert set(ours.cpu) == {"client", "server", "preprocess", "bert-trt", "postprocess"}
    assert set(ours.steps_ms) == {"preprocess", "bert-trt", "postprocess", "request"}
    assert all(batch >= 1 for batch in ours.batches.values())
    assert results.facts["weights"] == {"bert_trt": built["bert_trt"].manifest["weights"]}
    assert any("1 short sentence per request, 8 requests at once" in line for line in lines)
