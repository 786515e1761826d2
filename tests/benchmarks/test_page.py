"""docs/performance.md out of results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.contenders.names import ALL_CORES, ONE_THREAD, OURS, REFERENCE
from benchmarks.loads import Load, served
from tests.benchmarks.runs import run_of
from triton_ensembles.paths import ROOT

LIMIT = Load("short", 32, 0)


def test_the_page_has_every_part(tmp_path: Path) -> None:
    """Else `python -m benchmarks.page` loses a table, a picture, or what another measurement wrote."""
    loads = [load for load in served("short") if load.rows == 1]
    rates = {(OURS, load): [50.0, 60.0, 70.0] for load in loads} | {(REFERENCE, loads[0]): [5.0, 6.0, 7.0]}
    results = run_of({(ALL_CORES, LIMIT): [100, 100, 100], (ONE_THREAD, LIMIT): [120, 120, 120], **rates})
    results.missing["a peer"] = "pip could not have it"
    results.write(tmp_path / "reports" / "results.json")
    table = {"title": "Cold start", "header": ["", "s"], "rows": [["ours", 1.5]], "note": "From a cold cache."}
    start = {"tables": [table], "ratios": {"cold_start": 9.5}, "command": "python -m benchmarks.start"}
    (tmp_path / "reports" / "start.json").write_text(json.dumps(start))
    output = tmp_path / "docs" / "performance.md"
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path / "reports"), "--output", str(output)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    text = output.read_text()
    assert "| ours, gRPC: short, 1 a request, concurrency 1 | 8 times the reference | 10.00 (10.00 to 10.00) |" in text
    assert "flags: cold start this many times shorter | 10 times | 9.5 | the reference | MISSED |" in text
    assert "### Cold start\n\n|  | s |\n| --- | --- |\n| ours | 1.5 |\n\nFrom a cold cache." in text
    assert "**a peer** did not take part: pip could not have it" in text
    assert "60.0 (50.0 to 70.0), 0.50" in text
    assert (ROOT / "benchmarks" / "tuning.md").read_text() in text
    pictures = sorted(path.name for path in (tmp_path / "docs" / "images").iterdir())
    assert pictures == ["performance-latency.png", "performance-steps.png", "performance-throughput.png"]
    assert all(f"(images/{name})" in text for name in pictures)


def test_no_results_is_one_line(tmp_path: Path) -> None:
    """Else people see a traceback when they ask for the page before the benchmark."""
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("there are no results; make bench")
