"""The time of every step, compared with what perf_analyzer reports for the same requests; and of a fused ensemble's."""

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http

from checkout import ENSEMBLES
from tests import chain
from tests.commands.projects import run_in, succeeded
from tests.ensembles.clients import infer
from tests.processes import wait_until
from tests.running import serving
from triton_ensembles.building.built import Built
from triton_ensembles.measuring.perf.analyzer import run_analyzer
from triton_ensembles.measuring.perf.fused_steps import fused_counters, planned_steps
from triton_ensembles.measuring.perf.inputs import UserInputs, inputs_for
from triton_ensembles.measuring.perf.steps import Counters, composing_models, read_counters, step_times
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.server.home import find_home
from triton_ensembles.server.triton_server import TritonServer

SERVED = ("bert_trt",)
STEPS = ["bert_trt.preprocess", "bert_trt.bert-trt", "bert_trt.postprocess"]


def test_steps_agree_with_perf_analyzer(server: TritonServer, client: Any, tmp_path: Path) -> None:
    """Otherwise the bars of the plot do not show what Triton measured."""
    assert composing_models(client, "bert_trt") == STEPS
    examples = read_examples(ENSEMBLES / "bert_trt")
    inputs = inputs_for(client.get_model_config("bert_trt"), examples, 1, tmp_path, UserInputs())
    # 200 requests and no window: its figures and ours are about the very same requests.
    arguments = ["-m", "bert_trt", "-i", "grpc", "-u", server.grpc_url, *inputs.arguments, "--verbose-csv", "-f", "own"]
    before = {step: read_counters(client, step) for step in STEPS}
    run_analyzer(find_home(), [*arguments, "--concurrency-range", "4", "--request-count", "200"], tmp_path, 120)
    for step in STEPS:
        spent = read_counters(client, step) - before[step]
        assert spent.requests == pytest.approx(200, abs=4)  # those under way when the last one is counted
        times = step_times("bert_trt", step, spent)
        with (tmp_path / f"{step}_v1.own").open(newline="") as stream:
            (row,) = csv.DictReader(stream)
        assert times.step == step.removeprefix("bert_trt.")
        for phase in ("Queue", "Compute Input", "Compute Infer", "Compute Output"):
            milliseconds = getattr(times, phase.lower().replace(" ", "_") + "_ms")
            assert milliseconds == pytest.approx(float(row[f"Server {phase}"]) / 1000, rel=0.1, abs=0.1), phase


def test_a_step_that_did_not_run_has_no_times() -> None:
    """Otherwise a step of a branch that was not taken ends a sweep with a division by zero."""
    phases = ("success", "queue", "compute_input", "compute_infer", "compute_output")
    assert step_times("e", "e.step", Counters(0, 0, 0, 0, dict.fromkeys(phases, 0))).compute_ms == 0


# A fused ensemble


def ask(client: http.InferenceServerClient, rows: int) -> None:
    numbers = np.ones((rows, 3), np.float32)
    np.testing.assert_array_equal(infer(client, chain.NAME, {"X": numbers})["Y"], numbers + 2)


def test_every_request_is_counted_in_every_step(fused_chain: Built) -> None:
    """The counters arrive late: otherwise the last requests are missing, or a step has fewer than another."""
    with (
        serving(TritonServer([fused_chain.repository])) as server,
        http.InferenceServerClient(server.http_url) as client,
    ):
        planned = planned_steps(fused_chain.repository, chain.NAME)
        count = partial(fused_counters, client, server.metrics_url, chain.NAME, planned)
        ask(client, 1)
        wait_until(lambda: read_counters(client, chain.NAME).requests == 1)  # Triton counts after it has answered
        before, own_before = count(), read_counters(client, chain.NAME)
        assert {name: step.requests for name, step in before.items()} == dict.fromkeys(chain.STEPS, 1)
        for _ in range(5):
            ask(client, 3)
        wait_until(lambda: read_counters(client, chain.NAME).requests == 6)
        times = [step_times(chain.NAME, step, now - before[step]) for step, now in count().items()]
        own = read_counters(client, chain.NAME) - own_before
    assert [step.step for step in times] == chain.STEPS
    for step in times:
        assert (step.executions, step.batch) == (5, 3)
        assert step.compute_infer_ms >= chain.SLEEPS_MS[step.step]
        assert step.queue_ms is None
    assert sum(step.compute_ms for step in times) <= own.average_ms("compute_infer")


def test_perf_shows_the_time_by_step_and_the_one_queue_in_a_folder_of_its_own(fused_chain: Built) -> None:
    """What a fused step has not is empty, and not zero. The report of one form does not replace that of the other."""
    project = fused_chain.archive.parents[2]
    done = succeeded(run_in(project, "perf", "--target", "fused", "--concurrency", "1,4", "--seconds", "1.5"))
    reports = project / "reports" / "perf"
    assert not (reports / "chain.json").exists()
    facts = json.loads((reports / "fused" / "chain.json").read_text())
    assert facts["target"] == "fused"
    for point in facts["points"]:
        assert [step["step"] for step in point["steps"]] == chain.STEPS
        assert point["queue_ms"] >= 0
        inside = 0.0
        for step in point["steps"]:
            assert (step["queue_ms"], step["compute_input_ms"], step["compute_output_ms"]) == (None, None, None)
            # A request of a batch is in the step as long as the batch is.
            assert step["compute_infer_ms"] >= chain.SLEEPS_MS[step["step"]]
            inside += step["compute_infer_ms"]
        assert inside + point["queue_ms"] <= point["server_ms"]
    alone, together = facts["points"]
    assert [step["batch"] for step in alone["steps"]] == [1, 1]
    # Three wait while one is answered, and are answered together.
    assert all(step["batch"] > 1 for step in together["steps"])
    with (reports / "fused" / "chain.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        assert row["first.queue_ms"] == row["second.compute_output_ms"] == ""
        assert float(row["second.compute_infer_ms"]) >= chain.SLEEPS_MS["second"]
        assert float(row["queue_ms"]) >= 0
    by_step = done.output.partition("by step")[2].splitlines()
    assert by_step[1].split() == ["concurrency", "queue", "first", "second"]
    assert "+" not in by_step[2]
    assert (reports / "fused" / "chain.png").stat().st_size > 10_000
