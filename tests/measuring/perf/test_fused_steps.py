"""The time of every step of a fused ensemble: its counters, compared with Triton's statistics, and a sweep."""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http

from tests import chain
from tests.ensembles.clients import infer
from tests.running import serving
from tests.triton.test_server import wait_until
from triton_ensembles.building.built import Built
from triton_ensembles.measuring.perf.fused_steps import fused_counters, planned_steps
from triton_ensembles.measuring.perf.report import tables
from triton_ensembles.measuring.perf.steps import read_counters, step_times
from triton_ensembles.measuring.perf.sweep import Load, measure
from triton_ensembles.project.examples.place import examples_folder
from triton_ensembles.triton.server import TritonServer


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


def test_a_repository_that_is_not_fused_has_no_planned_steps(tmp_path: Path) -> None:
    (tmp_path / "drawn" / "1").mkdir(parents=True)
    assert planned_steps(tmp_path, "drawn") == []


@pytest.fixture(scope="module")
def swept(fused_chain: Built, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the reports of a short sweep, and its tables."""
    folder = tmp_path_factory.mktemp("reports")
    examples = examples_folder(fused_chain.archive.parents[2] / "ensembles" / chain.NAME).parent
    models = {chain.NAME: (fused_chain.repository, examples)}
    (report,) = measure(models, Load((1, 4), 1.5), output=folder, progress=print)
    return folder, tables(report)


def test_a_sweep_shows_the_time_by_step_and_the_one_queue(swept: tuple[Path, str]) -> None:
    facts = json.loads((swept[0] / "chain.json").read_text())
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


def test_what_a_fused_step_has_not_is_empty_and_not_zero(swept: tuple[Path, str]) -> None:
    folder, shown = swept
    with (folder / "chain.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        assert row["first.queue_ms"] == row["second.compute_output_ms"] == ""
        assert float(row["second.compute_infer_ms"]) >= chain.SLEEPS_MS["second"]
        assert float(row["queue_ms"]) >= 0
    by_step = shown.partition("by step")[2].splitlines()
    assert by_step[1].split() == ["concurrency", "queue", "first", "second"]
    assert "+" not in by_step[2]
    assert (folder / "chain.png").stat().st_size > 10_000
