"""docs/performance.md, made from results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.contenders.contender import ALL_CORES, ECHO, ENGINE, FUSED, ONE_INSTANCE, PEER_NAMES, REFERENCE
from benchmarks.page import PAGE, numbers
from benchmarks.parts import BATCHES, IMAGE_BATCH, ONE
from benchmarks.results import Results
from benchmarks.tables import Table
from checkout import ROOT
from tests.benchmarks.runs import FACTS, run_of


def make_page(reports: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.page", "--reports", str(reports), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_page_has_every_part(tmp_path: Path) -> None:
    """Otherwise `python -m benchmarks.page` loses a table, or what another part wrote."""
    rates = {FUSED: [180.0, 190.0, 200.0], REFERENCE: [50.0, 60.0, 70.0]}
    rates |= {PEER_NAMES[0]: [80.0, 80.0, 80.0], ECHO: [1000.0, 1000.0, 1000.0]}
    one = run_of({(name, ONE): rounds for name, rounds in rates.items()} | {(ENGINE, BATCHES[ONE]): [250.0] * 3})
    one.missing["a peer"] = "pip could not install it"
    one.contenders = {FUSED: "tritonserver, onnxruntime"}
    table = Table("Memory", ["", "MiB"], [["fused", "88"]], "Files are mapped.")
    facts = FACTS | {"command": "python -m benchmarks.bench --only memory --rounds 3"}
    figures = {f"memory {ONE_INSTANCE} 64": 88.4}
    one.write(tmp_path / "one.json")
    Results(facts, figures=figures, tables=[table]).write(tmp_path / "memory.json")
    assert make_page(tmp_path, "--output", str(tmp_path / "page.md")).returncode == 0
    text = (tmp_path / "page.md").read_text()
    assert "| one sentence at a time | 190 a second | 2.38 times the best peer |" in text
    assert "| memory of each of 64 loaded | 88 MiB | – for one alone |" in text
    assert "it is 0.95 of what an echo plus the bare engine would have" in " ".join(text.split())
    assert "| 1 short sentence per request, one at a time | floor | 200 (200 to 200) |" in text
    assert "|  | reference | 60.0 (50.0 to 70.0) | 5.0 | 0.50 | 1.00 |" in text
    assert "## Memory\n\n|  | MiB |\n| --- | --- |\n| fused | 88 |\n\nFiles are mapped." in text
    assert "**a peer** did not take part: pip could not install it" in text
    assert "| `python -m benchmarks.bench --only memory --rounds 3` | 2026-01-02 | 2.5 | 0.1 |" in text
    assert "| fused | tritonserver, onnxruntime |" in text


def test_a_figure_compares_each_round_with_itself() -> None:
    """Otherwise a machine that slows down during the run decides who wins."""
    batch = BATCHES[IMAGE_BATCH]
    results = run_of({(FUSED, IMAGE_BATCH): [90, 45, 9], (ALL_CORES, batch): [100, 50, 10]})
    assert numbers(results) == {"images": "45.0", "images_limit": "0.90"}


def test_missing_results_are_one_line(tmp_path: Path) -> None:
    """Otherwise people see a traceback when they request the page before the benchmark."""
    done = make_page(tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("the results of the benchmark do not exist; make bench")


def test_a_part_alone_does_not_replace_the_page_of_all(tmp_path: Path) -> None:
    """Otherwise docs/performance.md loses every figure that was measured before, on this machine or another."""
    before = PAGE.read_bytes()
    run_of({(FUSED, ONE): [50.0]}).write(tmp_path / "one.json")
    done = make_page(tmp_path)
    assert done.returncode == 1 and PAGE.read_bytes() == before
    assert ": many, batch, images, memory, cold not measured, so " in done.stderr
    assert done.stderr.endswith("; make bench, or --output FILE for a page of what there is\n")
