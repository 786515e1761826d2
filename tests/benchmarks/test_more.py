"""The comparisons of `make bench-more`, in their smallest size."""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks import clone, endpoint_overhead
from tests.endpoint.hosting.archives import ensemble, model, packed


def test_the_overhead_of_the_endpoint_is_measured(tmp_path: Path) -> None:
    """Otherwise the figures in docs/endpoint.md cannot be measured again."""
    lines: list[str] = []
    endpoint_overhead.compare([], rounds=2, seconds=0.5, progress=lines.append)
    (echo,) = lines
    assert re.match(r"echo +1 connection: +p50 [\d.]+ ms direct, [\d.]+ ms endpoint; overhead -?[\d.]+ \(", echo)
    assert re.search(r"32 connections: [1-9]\d*/s direct, [1-9]\d*/s endpoint; ratio [\d.]+ \(", echo)


def test_clones_are_compared_with_tar_and_cp(tmp_path: Path) -> None:
    """Otherwise the figures in docs/gpu.md cannot be measured again; and nothing is left beside the archive."""
    manifest = {"manifest.json": json.dumps({"ensemble": "pair", "weights": "pretrained"}).encode()}
    archive = tmp_path / "pair.tar.gz"
    archive.write_bytes(packed(ensemble("pair", "pair.one") | model("pair.one") | manifest))
    lines = clone.compare(archive, count=2, rounds=1).splitlines()
    assert [line.split(" 2 archives: ")[0].rstrip() for line in lines[:3]] == ["clone", "tar czf", "cp"]
    assert [line.split(" (")[0].split(" as fast as ")[1] for line in lines[3:]] == ["tar czf", "cp"]
    assert list(tmp_path.iterdir()) == [archive]
