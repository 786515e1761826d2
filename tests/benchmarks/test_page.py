"""docs/performance.md, made from results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.contenders.contender import DRAWN, ECHO, ENGINE, FUSED, PEER_NAMES, REFERENCE
from benchmarks.page import PAGE
from benchmarks.parts import BATCHES, ONE
from benchmarks.results import Results
from benchmarks.tables import Table
from checkout import ROOT
from tests.benchmarks.runs import FACTS, run_of


def written_page(tmp_path: Path, **parts: Results) -> str:
    for name, results in parts.items():
        results.write(tmp_path / "reports" / f"{name}.json")
    output = tmp_path / "docs" / "performance.md"
    output.parent.mkdir()
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path / "reports"), "--output", str(output)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return output.read_text()


def test_the_page_has_every_part(tmp_path: Path) -> None:
    """Otherwise `python -m benchmarks.page` loses a table, a goal, or what another part wrote."""
    rates = {FUSED: [180.0, 190.0, 200.0], DRAWN: [100.0, 100.0, 100.0], REFERENCE: [50.0, 60.0, 70.0]}
    rates |= {PEER_NAMES[0]: [80.0, 80.0, 80.0], ECHO: [1000.0, 1000.0, 1000.0]}
    one = run_of({(name, ONE): each for name, each in rates.items()} | {(ENGINE, BATCHES[ONE]): [250.0] * 3})
    one.missing["a peer"] = "pip could not install it"
    one.contenders = {FUSED: "tritonserver, onnxruntime"}
    table = Table("Memory", ["", "MiB"], [["fused", "88"]], "Files are mapped.")
    facts = FACTS | {"command": "python -m benchmarks.bench --only memory --rounds 3"}
    text = written_page(tmp_path, one=one, memory=Results(facts, figures={"memory_64": 88.4}, tables=[table]))
    first = " ".join(text.split("\n\n")[2].split())
    assert first.startswith("One sentence at a time, the fused bert_trt answers 1.90 times as fast as the drawn form ")
    assert first.endswith("4 of 36 goals were met.")
    assert "at least 1.3 times the drawn form | 1.90 (1.80 to 2.00) | met |" in text
    assert "at least 0.85 times the floor | 0.95 (0.90 to 1.00) | met |" in text
    assert "memory of each of 64 loaded, fused with one instance: at most 100 MiB | 88 MiB | met |" in text
    assert "| floor | 200 (200 to 200) |" in text
    assert "| reference | 60.0 (50.0 to 70.0) | 5.0 | 0.50 | 1.00 |" in text
    assert "### Memory\n\n|  | MiB |\n| --- | --- |\n| fused | 88 |\n\nFiles are mapped." in text
    assert "**a peer** did not take part: pip could not install it" in text
    assert "| `python -m benchmarks.bench --only memory --rounds 3` | 2026-01-02 | 2.5 | 0.1 |" in text
    assert "| fused | tritonserver, onnxruntime |" in text


def test_conclusions_leave_out_what_was_not_measured(tmp_path: Path) -> None:
    """Otherwise a partial run has no page, or a page with gaps in its sentences."""
    text = written_page(tmp_path, one=run_of({(FUSED, ONE): [50.0]}))
    assert text.split("\n\n")[2] == "0 of 36 goals were met."


def test_missing_results_are_one_line(tmp_path: Path) -> None:
    """Otherwise people see a traceback when they ask for the page before the benchmark."""
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("the results of the benchmark do not exist; make bench")


def test_a_part_alone_does_not_replace_the_page_of_all(tmp_path: Path) -> None:
    """Otherwise docs/performance.md loses every figure that was measured before, on this machine or another."""
    before = PAGE.read_bytes()
    run_of({(FUSED, ONE): [50.0]}).write(tmp_path / "one.json")
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and PAGE.read_bytes() == before
    assert ": many, batch, mix, images, memory, cold, size, bounds, cli not measured, so " in done.stderr
    assert done.stderr.endswith("; make bench, or --output FILE for a page of what there is\n")
