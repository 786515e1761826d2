"""The floor, computed from measurements."""

from __future__ import annotations

import pytest

from benchmarks.contenders.contender import ECHO, ENGINE, ENGINE_EACH_CORE, ENGINE_ONE_THREAD, FUSED
from benchmarks.floor import floor
from benchmarks.parts import BATCH, BATCHES, MANY, ONE
from tests.benchmarks.runs import CPU, run_of


def test_the_floor_of_one_request_at_a_time_adds_latencies() -> None:
    """Otherwise a figure is compared with something that no server could reach, or that any does."""
    single = BATCHES[ONE]
    results = run_of({(ECHO, ONE): [1000, 500], (ENGINE, single): [200, 100], (ENGINE_ONE_THREAD, single): [250, 125]})
    assert floor(results, ONE) == pytest.approx({1: 1 / (0.001 + 0.004), 2: 1 / (0.002 + 0.008)})


def test_the_floor_of_many_requests_adds_processor_time() -> None:
    """Otherwise what the client and the server take themselves is left out of the floor."""
    results = run_of({(ECHO, MANY): [3000], (ENGINE_EACH_CORE, BATCHES[MANY]): [750]})
    used = sum(CPU.values())
    assert floor(results, MANY) == pytest.approx({1: 2 / (used / 3000 + used / 750)})


def test_loads_without_an_echo_have_no_floor() -> None:
    results = run_of({(FUSED, BATCH): [1.0]})
    assert floor(results, BATCH) == floor(results, ONE) == {}
