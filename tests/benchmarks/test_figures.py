"""The figures of docs/performance.md, made from results of runs that never were."""

from collections.abc import Mapping, Sequence

import pytest

from benchmarks.cells import Cell, Measurement, rate
from benchmarks.contenders.contender import ALL_CORES, ECHO, ENGINE_EACH_CORE, FUSED, ONE_THREAD, PEER_NAMES
from benchmarks.floor import floor
from benchmarks.loads import Load
from benchmarks.parts import BATCH, BATCHES, IMAGE_BATCH, MANY, ONE
from benchmarks.ratios import ratios_table
from benchmarks.results import Results
from triton_ensembles.ground.errors import EnsembleError

CORES = (0.5, 1.0)  # of the client and of others, in every cell


def run_of(throughputs: Mapping[tuple[str, Load], Sequence[float]]) -> Results:
    """A part with these throughputs, by round, of each contender under each load."""
    results = Results({"machine": {"cores": 2}})
    for (name, load), rates in throughputs.items():
        for number, each in enumerate(rates, start=1):
            results.measured.append(Measurement(number, name, load, Cell(each, 5.0, *CORES)))
    return results


def test_a_figure_compares_each_round_with_itself() -> None:
    """Otherwise a machine that slows down during the run decides who wins. Rounds without one of them do not count."""
    batch = BATCHES[IMAGE_BATCH]
    limits = {(ALL_CORES, batch): [100, 50, 10], (ONE_THREAD, batch): [200, 1, 9]}
    results = run_of({(FUSED, IMAGE_BATCH): [90, 45, 9, 1]} | limits)
    assert ratios_table(results).rows == [[str(IMAGE_BATCH), FUSED, "27.0 (1.0 to 90.0)", "0.90 of limit, 50.0"]]


def test_the_best_of_others_has_the_highest_median() -> None:
    """Otherwise one lucky round of a peer decides what ours is compared with."""
    peers = {(PEER_NAMES[0], ONE): [80.0, 80.0, 80.0], (PEER_NAMES[1], ONE): [300.0, 1.0, 70.0]}
    (row,) = ratios_table(run_of({(FUSED, ONE): [180.0, 190.0, 200.0]} | peers)).rows
    assert row[-1] == "2.38 of the best peer, 80.0"


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
