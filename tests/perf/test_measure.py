"""Short sweeps of the real ensembles on the real server."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from triton_ensembles.building.build import Built
from triton_ensembles.building.recipe import find_ensembles
from triton_ensembles.errors import EnsembleError
from triton_ensembles.paths import ENSEMBLES
from triton_ensembles.perf import measure
from triton_ensembles.perf.report import tables
from triton_ensembles.triton.model_config import CONFIG, read_config

STEPS = {
    folder.name: [step.model_name for step in read_config(folder / "ensemble" / CONFIG).ensemble_scheduling.step]
    for folder in find_ensembles(ENSEMBLES)
}


def test_a_short_sweep_of_all(built: dict[str, Built], tmp_path: Path) -> None:
    """Else `make perf` ends without a report, or with one that lacks a step."""
    said: list[str] = []
    ensembles = [built[name] for name in STEPS]
    reports = measure(
        ensembles, ensembles=ENSEMBLES, concurrencies=(2, 1), output=tmp_path, seconds=3, progress=said.append
    )
    assert [report.name for report in reports] == list(STEPS)
    for report in reports:
        name = report.name
        assert report.steps == STEPS[name]
        assert [point.client.concurrency for point in report.points] == [1, 2]
        for point in report.points:
            client = point.client
            assert client.throughput > 0
            assert 0 < client.p50_ms <= client.p90_ms <= client.p95_ms <= client.p99_ms
            assert point.requests >= 3
            assert all(step.compute_infer_ms > 0 and step.batch >= 1 and step.executions for step in point.steps)
        assert report.weights == ("random" if built[name].random else "pretrained")
        _check_files(name, tmp_path)
        assert all(step in tables(report) for step in report.steps)
        assert sum(line.startswith(f"[{name}] concurrency") for line in said) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{name}{suffix}" for name in STEPS for suffix in (".csv", ".json", ".png")
    )


def test_over_http(built: dict[str, Built], tmp_path: Path) -> None:
    """Else --protocol http measures gRPC, or hangs: a warm-up over HTTP ended only nine times of ten."""
    (report,) = measure(
        [built["bert_trt"]],
        ensembles=ENSEMBLES,
        concurrencies=(32,),
        output=tmp_path,
        seconds=3,
        protocol="http",
        progress=print,
    )
    assert report.protocol == "http"
    (point,) = report.points
    assert point.command[point.command.index("-i") + 1] == "http"
    assert point.client.throughput > 0


def _check_files(name: str, folder: Path) -> None:
    with (folder / f"{name}.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert [row[0] for row in rows] == ["1", "2"]
    assert all(len(row) == len(header) for row in rows)
    assert {f"{step}.queue_ms" for step in STEPS[name]} <= set(header)
    facts = json.loads((folder / f"{name}.json").read_text())
    assert facts["versions"]["tritonserver"] == "2.51.0"
    assert re.fullmatch(r"wheel tritonclient \d+\.\d+\.\d+", facts["versions"]["perf_analyzer"])
    assert facts["machine"]["cores"] >= 1
    assert [point["command"][0] for point in facts["points"]] == ["perf_analyzer"] * 2
    with Image.open(folder / f"{name}.png") as image:
        image.load()
        assert image.size == (1500, 1200)


def test_an_ensemble_that_refuses(built: dict[str, Built], tmp_path: Path) -> None:
    """Else an error under load is taken for a measurement, or its reason is lost."""
    with pytest.raises(EnsembleError, match="batch-size must be <= 64 for 'bert_trt'"):
        measure(
            [built["bert_trt"]],
            ensembles=ENSEMBLES,
            concurrencies=(1,),
            output=tmp_path / "out",
            batch=65,
            progress=print,
        )
    assert not (tmp_path / "out").exists()


def test_a_server_that_dies(built: dict[str, Built], tmp_path: Path) -> None:
    """Else people read of a closed socket and look for the fault in their network."""
    others = _names(os.getpid())  # the suite's own server may be up

    def end_the_server(line: str) -> None:
        if "sending" in line:
            (server,) = (pid for pid in _names(os.getpid()) if pid not in others)
            os.kill(server, signal.SIGTERM)  # after SIGKILL its stubs and shared memory would stay
            os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)

    with pytest.raises(EnsembleError, match="tritonserver ended by itself under load of bert_trt"):
        measure(
            [built["bert_trt"]],
            ensembles=ENSEMBLES,
            concurrencies=(1,),
            output=tmp_path / "out",
            progress=end_the_server,
        )
    assert not (tmp_path / "out").exists()


_SWEEP = """
import sys
from pathlib import Path
from types import SimpleNamespace
from triton_ensembles.paths import ENSEMBLES
from triton_ensembles.paths import ENSEMBLES
from triton_ensembles.perf import measure

built = SimpleNamespace(name="bert_trt", repository=Path(sys.argv[1]))
say = lambda line: print(line, flush=True)
measure([built], ensembles=ENSEMBLES, concurrencies=(1, 2), output=Path(sys.argv[2]), seconds=60, progress=say)
"""


def test_ctrl_c(built: dict[str, Built], tmp_path: Path) -> None:
    """Else Ctrl-C leaves a server, perf_analyzer, a temporary folder or half a report behind."""
    output = tmp_path / "out"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", _SWEEP, str(built["bert_trt"].repository), str(output)],
        env=os.environ | {"TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        # A suite that runs in the background of a shell has SIGINT ignored, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        children = _children(process.pid, {"tritonserver", "perf_analyzer"})
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
    assert not output.exists()
    assert not list(temporary.glob("perf-*"))


def _children(parent: int, wanted: set[str]) -> list[int]:
    """The children of ``parent`` that run the wanted programs, once there is one of each."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        names = _names(parent)
        found = [pid for pid, name in names.items() if name in wanted]
        if wanted <= set(names.values()):
            return found
        time.sleep(0.1)
    raise AssertionError(f"only {names} were started")


def _names(parent: int) -> dict[int, str]:
    found = {}
    for file in Path(f"/proc/{parent}/task").glob("*/children"):
        for pid in file.read_text().split():
            with contextlib.suppress(FileNotFoundError):
                found[int(pid)] = Path(f"/proc/{pid}/comm").read_text().strip()
    return found
