"""The time of every step, compared with what perf_analyzer reports for the same requests."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import tritonclient.http as http

from checkout import ENSEMBLES
from triton_ensembles.measuring.perf.analyzer import run_analyzer
from triton_ensembles.measuring.perf.inputs import UserInputs, inputs_for
from triton_ensembles.measuring.perf.steps import Counters, composing_models, read_counters, step_times
from triton_ensembles.project.examples.folder import read_examples
from triton_ensembles.triton.home import find_home
from triton_ensembles.triton.server import TritonServer

SERVED = ("bert_trt",)
STEPS = ["bert_trt.preprocess", "bert_trt.bert-trt", "bert_trt.postprocess"]


def test_steps_agree_with_perf_analyzer(
    server: TritonServer, client: http.InferenceServerClient, tmp_path: Path
) -> None:
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
