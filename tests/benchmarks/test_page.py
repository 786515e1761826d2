"""docs/performance.md, made from results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.contenders.contender import ALL_CORES, ONE_THREAD, OURS, PEER_NAMES, REFERENCE
from benchmarks.loads import Load, served
from tests.benchmarks.runs import run_of
from triton_ensembles.paths import ROOT

LIMIT = Load("short", 32, 0)


def test_the_page_has_every_part(tmp_path: Path) -> None:
    """Otherwise `python -m benchmarks.page` loses a table, a picture, or what another measurement wrote."""
    loads = [load for load in served("short") if load.rows == 1]
    rates = {(OURS, load): [50.0, 60.0, 70.0] for load in loads}
    rates |= {(REFERENCE, load): [5.0, 6.0, 7.0] for load in loads}
    rates |= {(PEER_NAMES[0], load): [25.0, 30.0, 35.0] for load in loads}
    results = run_of({(ALL_CORES, LIMIT): [100, 100, 100], (ONE_THREAD, LIMIT): [120, 120, 120], **rates})
    results.missing["a peer"] = "pip could not install it"
    results.write(tmp_path / "reports" / "results.json")
    table = {"title": "Cold start", "header": ["", "s"], "rows": [["ours", "1.5"]], "note": "Files are cached."}
    start = {"tables": [table], "ratios": {"cold_start": 9.5}, "command": "python -m benchmarks.start"}
    (tmp_path / "reports" / "start.json").write_text(json.dumps(start))
    output = tmp_path / "docs" / "performance.md"
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path / "reports"), "--output", str(output)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    text = output.read_text()
    assert "bert_trt has 10 times the throughput of the reference and 2 times that of the best peer." in " ".join(
        text.split()
    )
    assert "is at least 8 times that of the reference | 10.00 (10.00 to 10.00) | met |" in text
    assert "its cold start is at least 10 times shorter than the reference's | 9.5 | missed |" in text
    assert "### Cold start\n\n|  | s |\n| --- | --- |\n| ours | 1.5 |\n\nFiles are cached." in text
    assert "**a peer** did not take part: pip could not install it" in text
    assert "60.0 (50.0 to 70.0), 0.50" in text
    pictures = sorted(path.name for path in (tmp_path / "docs" / "images").iterdir())
    assert pictures == ["performance-latency.png", "performance-steps.png", "performance-throughput.png"]
    assert all(f"(images/{name})" in text for name in pictures)


def test_conclusions_leave_out_what_was_not_measured(tmp_path: Path) -> None:
    """Otherwise a partial run has no page, or a page with gaps in its sentences."""
    run_of({(OURS, Load("short", 1, 1)): [50.0]}).write(tmp_path / "results.json")
    output = tmp_path / "performance.md"
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path), "--output", str(output)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    first = output.read_text().split("\n\n")[2]
    assert first.startswith("0 of ") and first.endswith(" goals were met.")


def test_missing_results_are_one_line(tmp_path: Path) -> None:
    """Otherwise people see a traceback when they ask for the page before the benchmark."""
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("the results of the benchmark do not exist; make bench")
