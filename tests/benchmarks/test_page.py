"""docs/performance.md, and the figures in it, made from results of runs that never were."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.cells import Cell, Measurement, rate
from benchmarks.contenders.contender import (
    ALL_CORES,
    ECHO,
    ENGINE,
    ENGINE_EACH_CORE,
    ENGINE_ONE_THREAD,
    FUSED,
    ONE_INSTANCE,
    ONE_THREAD,
    PEER_NAMES,
    REFERENCE,
)
from benchmarks.floor import floor
from benchmarks.loads import Load
from benchmarks.page import PAGE, numbers
from benchmarks.parts import BATCH, BATCHES, IMAGE_BATCH, MANY, ONE
from benchmarks.results import Results
from benchmarks.tables import Table
from tests.running import outcome
from triton_ensembles.ground.errors import EnsembleError

FACTS = {
    "date": "2026-01-02T03:04:05+00:00",
    "command": "python -m benchmarks.bench --only one --rounds 3",
    "rounds": 3,
    "seconds": 2.5,
    "minutes": 2.5,
    "machine": {"cores": 2, "processor": "any", "memory_gib": 24, "system": "Linux", "load_average_before": 0.1},
    "versions": {"tritonserver": "2.51.0"},
    "weights": {"bert_trt": "pretrained"},
}
CORES = (0.5, 1.0)  # of the client and of others, in every cell


def run_of(throughputs: Mapping[tuple[str, Load], Sequence[float]]) -> Results:
    """A part with these throughputs, by round, of each contender under each load."""
    results = Results(FACTS)
    for (name, load), rates in throughputs.items():
        for number, each in enumerate(rates, start=1):
            results.measured.append(Measurement(number, name, load, Cell(each, 5.0, *CORES)))
    return results


def make_page(reports: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return outcome(sys.executable, "-m", "benchmarks.page", "--reports", reports, *options)


def test_the_page_has_every_part(tmp_path: Path) -> None:
    """Otherwise `python -m benchmarks.page` loses a table, or what another part wrote."""
    rates = {FUSED: [180.0, 190.0, 200.0], REFERENCE: [50.0, 60.0, 70.0], ECHO: [1000.0, 1000.0, 1000.0]}
    rates |= {PEER_NAMES[0]: [80.0, 80.0, 80.0], PEER_NAMES[1]: [300.0, 1.0, 70.0]}  # the best has the highest median
    engines = {(ENGINE, BATCHES[ONE]): [200.0] * 3, (ENGINE_ONE_THREAD, BATCHES[ONE]): [250.0] * 3}
    one = run_of({(name, ONE): rounds for name, rounds in rates.items()} | engines)
    one.missing["a peer"] = "pip could not install it"
    one.contenders = {FUSED: "tritonserver, onnxruntime", PEER_NAMES[0]: "infinity_emb 0.1"}
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
    assert f"requests: {PEER_NAMES[0]} (infinity_emb 0.1)." in text


def test_a_figure_compares_each_round_with_itself() -> None:
    """Otherwise a machine that slows down during the run decides who wins. Rounds without one of them do not count."""
    batch = BATCHES[IMAGE_BATCH]
    limits = {(ALL_CORES, batch): [100, 50, 10], (ONE_THREAD, batch): [200, 1, 9]}
    results = run_of({(FUSED, IMAGE_BATCH): [90, 45, 9, 1]} | limits)
    assert numbers(results) == {"images": "27.0", "images_limit": "0.90"}


def test_the_floor_of_many_requests_adds_processor_time() -> None:
    """Otherwise what the client and the server take themselves is left out of the floor."""
    results = run_of({(ECHO, MANY): [3000], (ENGINE_EACH_CORE, BATCHES[MANY]): [750], (FUSED, BATCH): [1.0]})
    used = sum(CORES)
    assert floor(results, MANY) == pytest.approx({1: 2 / (used / 3000 + used / 750)})
    assert floor(results, BATCH) == {}  # without an echo


def test_bursts_do_not_round_a_rate() -> None:
    """Otherwise 32 images answered at once every two seconds are 0, 16 or 32 per second, by chance."""
    times = [burst * 2.0 + number * 0.001 for burst in range(3) for number in range(32)]
    assert rate(times, list(range(len(times)))) == pytest.approx(16, rel=0.05)
    with pytest.raises(EnsembleError, match="too few requests were answered"):
        rate([1.0], [1])


def test_a_part_alone_does_not_replace_the_page_of_all(tmp_path: Path) -> None:
    """Otherwise docs/performance.md loses every figure that was measured before, on this machine or another."""
    before = PAGE.read_bytes()
    run_of({(FUSED, ONE): [50.0]}).write(tmp_path / "one.json")
    done = make_page(tmp_path)
    assert done.returncode == 1 and PAGE.read_bytes() == before
    assert ": many, batch, images, memory, cold not measured, so " in done.stderr
    assert done.stderr.endswith("; make bench, or --output FILE for a page of what there is\n")
