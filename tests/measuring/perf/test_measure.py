"""Short sweeps of the real ensembles on the real server."""

import csv
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from checkout import ENSEMBLES
from tests.hosting import archives
from triton_ensembles.building.built import Built, choose
from triton_ensembles.ground.errors import EnsembleError
from triton_ensembles.ground.processes import command_line, descendants
from triton_ensembles.measuring.perf.inputs import UserInputs
from triton_ensembles.measuring.perf.sweep import Load, measure
from triton_ensembles.measuring.perf.sweep_report import Report, tables
from triton_ensembles.server.server_command import Reach
from triton_ensembles.server.triton_server import TritonServer
from triton_ensembles.triton.model_config import CONFIG, read_config

STEPS = {
    folder.name: [step.model_name for step in read_config(folder / "ensemble" / CONFIG).ensemble_scheduling.step]
    for folder in choose(ENSEMBLES, ("bert_trt", "dali_inception"))
}


def measured(built: dict[str, Built], output: Path, load: Load, *names: str, progress: Any = print) -> list[Report]:
    """Reports of these ensembles, with their examples."""
    models = {name: (built[name].repository, ENSEMBLES / name / "ensemble") for name in names}
    server = TritonServer([built[name].repository for name in names], completes=False, reach=Reach.SECRET)
    return measure(models, load, server, output=output, progress=progress)


@pytest.mark.slow
def test_a_short_sweep_of_two(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise `make perf` ends without a report, or with one that lacks a step."""
    said: list[str] = []
    reports = measured(built, tmp_path, Load((2, 1), 3), *STEPS, progress=said.append)
    assert [report.name for report in reports] == list(STEPS)
    for report in reports:
        name = report.name
        assert report.steps == STEPS[name]
        assert [point.client.concurrency for point in report.points] == [1, 2]
        for point in report.points:
            times = point.client
            assert 0 < times.p50_ms <= times.p90_ms <= times.p95_ms <= times.p99_ms and times.throughput > 0
            assert point.requests >= 3
            assert all(step.compute_infer_ms > 0 and step.batch >= 1 and step.executions for step in point.steps)
        assert report.weights == built[name].manifest["weights"]
        with (tmp_path / f"{name}.csv").open(newline="") as stream:
            header, *rows = csv.reader(stream)
        assert [row[0] for row in rows] == ["1", "2"]
        assert all(len(row) == len(header) for row in rows)
        assert {f"{step}.queue_ms" for step in report.steps} <= set(header)
        facts = json.loads((tmp_path / f"{name}.json").read_text())
        assert facts["versions"]["tritonserver"] == "2.51.0"
        assert re.fullmatch(r"wheel tritonclient \d+\.\d+\.\d+", facts["versions"]["perf_analyzer"])
        assert facts["machine"]["cores"] >= 1
        assert [point["command"][0] for point in facts["points"]] == ["perf_analyzer"] * 2
        with Image.open(tmp_path / f"{name}.png") as image:
            image.load()
            assert image.size == (1500, 1200)
        assert all(step in tables(report) for step in report.steps)
        points = [line for line in said if line.startswith(f"[{name}] ") and "inferences/s" in line]
        assert len(points) == 2  # besides them, a slow machine reports windows that were too short
    written = {f"{name}{suffix}" for name in STEPS for suffix in (".csv", ".json", ".png")}
    assert {path.name for path in tmp_path.iterdir()} == written


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_windows_are_lengthened_until_requests_are_answered(tmp_path: Path, protocol: str) -> None:
    """Otherwise a slow machine or a large model gets no report, only the advice to allow more seconds."""
    models = archives.written(archives.model("slow", execute="time.sleep(0.5)"), tmp_path / "models")
    said: list[str] = []
    (report,) = measure(
        {"slow": (models, tmp_path / "no examples")},
        Load((1, 2), 0.3, protocol, user=UserInputs(shapes=("X:1",))),
        TritonServer([models], reach=Reach.SECRET),
        output=tmp_path / "out",
        progress=said.append,
    )
    assert "[slow] concurrency 1: no answer within a window of 0.1 s; measuring again with 0.2 s (at most 60 s)" in said
    one, two = report.points
    assert two.seconds >= one.seconds > 0.3
    assert one.command[one.command.index("-i") + 1] == report.protocol == protocol
    assert one.client.p50_ms >= 500 and one.client.throughput > 0
    assert two.client.p50_ms > one.client.p50_ms and two.client.throughput > 0  # one after the other


def test_an_ensemble_that_refuses_requests_is_an_error(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise an error under load is taken for a measurement, or its reason is lost."""
    with pytest.raises(EnsembleError, match="batch-size must be <= 64 for 'bert_trt'"):
        measured(built, tmp_path / "out", Load((1,), batch=65), "bert_trt")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_server_that_ends_under_load_is_reported(built: dict[str, Built], tmp_path: Path) -> None:
    """Otherwise users see a closed socket and search their network for the fault."""
    others = descendants(os.getpid())  # the suite's own server may be up

    def end_the_server(line: str) -> None:
        if "sending" in line:
            new = [pid for pid in descendants(os.getpid()) if pid not in others]
            (server,) = (pid for pid in new if command_line(pid).split(" ")[0].endswith("/tritonserver"))
            os.kill(server, signal.SIGTERM)  # after SIGKILL its stubs and shared memory would remain
            os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)

    with pytest.raises(EnsembleError, match="tritonserver ended on its own under load of bert_trt"):
        measured(built, tmp_path / "out", Load((1,)), "bert_trt", progress=end_the_server)
    assert not (tmp_path / "out").exists()
