"""The floor and the goals, computed from measurements."""

from __future__ import annotations

import pytest

from benchmarks.contenders.contender import (
    ALL_CORES,
    AWS_GATEWAY,
    DRAWN,
    ECHO,
    ENGINE,
    ENGINE_EACH_CORE,
    ENGINE_ONE_THREAD,
    FUSED,
    GATEWAY,
    ONE_THREAD,
    PEER_NAMES,
)
from benchmarks.floor import floor
from benchmarks.gateway import CONNECTIONS
from benchmarks.gateway_requests import MODELS
from benchmarks.goals import FIGURES, SPEED, verdicts
from benchmarks.loads import Load
from benchmarks.parts import BATCH, BATCHES, IMAGE_BATCH, MANY, MIX_BATCH, ONE, PARTS, SORTED
from benchmarks.results import Results
from tests.benchmarks.runs import CPU, FACTS, run_of


def verdict_of(key: str, results: Results) -> tuple[str, str]:
    found = verdicts(results)[[*SPEED].index(key)]
    return found.measured, found.result


def test_the_floor_of_one_request_at_a_time_adds_latencies() -> None:
    """Otherwise a goal is measured against something that no server could reach, or that any does."""
    single = BATCHES[ONE]
    results = run_of({(ECHO, ONE): [1000, 500], (ENGINE, single): [200, 100], (ENGINE_ONE_THREAD, single): [250, 125]})
    assert floor(results, ONE) == pytest.approx({1: 1 / (0.001 + 0.004), 2: 1 / (0.002 + 0.008)})


def test_the_floor_of_many_requests_adds_processor_time() -> None:
    """Otherwise what the client and the server take themselves is left out of the floor."""
    results = run_of({(ECHO, MANY): [3000], (ENGINE_EACH_CORE, BATCHES[MANY]): [750]})
    used = sum(CPU.values())
    assert floor(results, MANY) == pytest.approx({1: 2 / (used / 3000 + used / 750)})


def test_loads_without_an_echo_have_no_floor() -> None:
    results = run_of({(FUSED, BATCH): [1.0], (FUSED, MIX_BATCH): [1.0]})
    assert floor(results, BATCH) == floor(results, MIX_BATCH) == floor(results, ONE) == {}


def test_a_goal_compares_each_round_with_itself() -> None:
    """Otherwise a machine that slows down during the run decides who wins."""
    batch = BATCHES[BATCH]
    results = run_of({(FUSED, BATCH): [90, 45, 9], (ALL_CORES, batch): [100, 50, 10], (ONE_THREAD, batch): [1, 1, 1]})
    assert verdict_of("batch_limit", results) == ("0.90 (0.90 to 0.90)", "missed")


def test_the_limit_is_that_of_the_better_median_in_batches_of_the_same_size() -> None:
    """Otherwise the goals are compared with the slower thread setting, or with another load."""
    same, other = Load("images", 8, 0), Load("images", 1, 0)
    rates = {(ALL_CORES, same): [100, 1, 90], (ONE_THREAD, same): [95, 96, 97], (ONE_THREAD, other): [999, 999, 999]}
    results = run_of({(FUSED, IMAGE_BATCH): [190, 192, 194], **rates})
    assert verdict_of("images_limit", results) == ("2.00 (2.00 to 2.00)", "met")


def test_mixed_lengths_are_compared_with_the_best_sorted_batches() -> None:
    rates = {(ONE_THREAD, SORTED[0]): [100.0], (ONE_THREAD, SORTED[1]): [200.0]}
    assert verdict_of("mix_batch_limit", run_of({(FUSED, MIX_BATCH): [190.0], **rates})) == (
        "0.95 (0.95 to 0.95)",
        "met",
    )


def test_a_goal_that_the_floor_itself_misses_shows_its_arithmetic() -> None:
    """Otherwise a reader takes for a fault what no server could do; and what one could do is not excused."""
    rates = {(ECHO, ONE): [1000.0], (ENGINE, BATCHES[ONE]): [250.0], (FUSED, ONE): [190.0]}
    results = run_of({**rates, (PEER_NAMES[0], ONE): [125.0], (DRAWN, ONE): [150.0]})
    assert verdict_of("one_peer", results)[1] == "missed: out of reach: the floor itself is 1.60 times the best peer"
    assert verdict_of("one_drawn", results)[1] == "missed"
    assert verdict_of("one_floor", results) == ("0.95 (0.95 to 0.95)", "met")


def test_a_goal_of_the_gateway_that_its_engine_misses_shows_its_arithmetic() -> None:
    """Otherwise a reader takes for a fault of the gateway what the model itself takes."""
    served, alone = Load("resnet", 1, 8), Load("resnet", 8, 0)
    rates = {(GATEWAY, served): [12.0], (AWS_GATEWAY, served): [10.0], (ENGINE, alone): [15.0]}
    words = "the engine alone itself is 1.50 times the reference after AWS's gateway"
    assert verdict_of("gateway_resnet", run_of(rates)) == ("1.20 (1.20 to 1.20)", f"missed: out of reach: {words}")
    fast = run_of(rates | {(ENGINE, alone): [40.0]})
    assert verdict_of("gateway_resnet", fast)[1] == "missed"


def test_memory_that_the_engines_alone_take_is_not_the_gateways() -> None:
    """Otherwise a reader takes it for a fault of the gateway; and what one could save is not excused."""

    def result_of(reach: float) -> str:
        figures = {"gateway_memory": 0.9, "gateway_memory_reach": reach}
        return verdicts(Results(FACTS, figures=figures))[len(SPEED) + [*FIGURES].index("gateway_memory")].result

    assert result_of(0.5).startswith("missed: out of reach: a gateway that takes no memory")
    assert result_of(0.5).endswith("0.50 times")
    assert result_of(0.3) == "missed"


def test_what_was_not_measured_is_not_met() -> None:
    assert {each.result for each in verdicts(run_of({}))} == {"not measured"}
    assert len(verdicts(run_of({}))) == len(SPEED) + len(FIGURES)


def test_a_goal_is_a_sentence() -> None:
    sentences = [each.goal for each in verdicts(run_of({}))]
    assert "fused, 1 short sentence per request, 32 requests at once: at least 1.55 times the best peer" in sentences
    assert "memory of each of 64 loaded, fused with one instance: at most 100 MiB" in sentences
    assert "16 loaded, requests in turn, fused: throughput of one alone: at least 0.55 times" in sentences


@pytest.mark.parametrize(
    "key, figure, measured, met",
    [
        ("memory_64", 100.0, "100 MiB", True),
        ("memory_64", 100.6, "101 MiB", False),
        ("turns_fused", 0.56, "0.56 times", True),
        ("turns_fused", 0.54, "0.54 times", False),
        ("left_fused", 0.0, "0 kB", True),
        ("left_fused", 4.1, "4 kB", False),
    ],
)
def test_figures_have_a_least_or_a_most(key: str, figure: float, measured: str, met: bool) -> None:
    """Otherwise more memory, or less speed, counts as better."""
    found = verdicts(Results(FACTS, figures={key: figure}))[len(SPEED) + [*FIGURES].index(key)]
    assert (found.measured, found.met) == (measured, met)


def test_accuracy_of_bf16_is_a_goal() -> None:
    """Otherwise a faster ensemble with different answers passes."""
    found = verdicts(Results(FACTS, cosines={"bert_trt": 0.9994}))[len(SPEED)]
    assert (found.measured, found.result) == ("0.999400", "missed")


def test_every_goal_is_measured_by_a_part() -> None:
    """Otherwise its row always says "not measured"."""
    served = {load for part in PARTS.values() for load in part.served}
    served |= {Load(model, 1, connections) for model in MODELS for connections in CONNECTIONS}
    assert {goal.load for goal in SPEED.values()} <= served
