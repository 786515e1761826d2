"""The short form of ``make soak``: more ensembles than fit into the memory, asked by several clients at once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.soak import verdict
from benchmarks.soak.__main__ import Plan, soak
from benchmarks.soak.traffic import Traffic
from benchmarks.soak.verdict import faults
from benchmarks.soak.watch import ROLES, Sample

pytestmark = pytest.mark.slow

MIB = 1 << 20


def looks(leak: float, loaded: Callable[[int], int]) -> list[Sample]:
    """A run of 100 looks. tritonserver has 100 MiB, 20 MiB and 30 threads for a model, and leaks MiB at each look."""

    def look(number: int) -> Sample:
        models = loaded(number)
        memory = {"tritonserver": int((100 + 20 * models + leak * number) * MIB), "stubs": 15 * models * MIB}
        threads = {"tritonserver": 12 + 30 * models + int(leak * number), "stubs": 3 * models}
        counts = dict.fromkeys(ROLES, 1) | {"stubs": models}
        none = dict.fromkeys(ROLES, 0)
        return Sample(float(number), number, 1, 0, none | memory, none, none | threads, counts, {})

    return [look(number) for number in range(100)]


@pytest.mark.parametrize("loaded", [lambda _: 100, lambda number: 60 + number // 2, lambda number: 100 - number % 7])
def test_growth_is_told_from_models_that_are_loaded(loaded: Callable[[int], int]) -> None:
    """With a hundred models, a leak of a hundred MiB is a small part of all, and a model less hides some of it."""
    traffic = Traffic(latencies=[0.1] * 10)
    assert list(faults(traffic, looks(0, loaded), 1 << 40, 10)) == []
    found = list(faults(traffic, looks(5, loaded), 1 << 40, 10))
    assert [each.partition(" grew")[0] for each in found] == [
        "the memory of tritonserver",
        "the threads of tritonserver",
    ]


def test_more_ensembles_than_fit_answer_rightly_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request fails, each answer is that of the model that was asked, and the container stays within its budget. So
    short a run says nothing of growth, and a machine that does other work nothing of time."""
    # The files of a server and of a step count in full as soon as no other test has them in memory.
    monkeypatch.setattr(verdict, "LEAST_ERROR", 64 * MIB)
    found = soak(tmp_path, Plan(models=30, requests=40, clients=4, seconds=600), lambda _: None)
    assert [fault for fault in found.faults if " grew from " not in fault and " took " not in fault] == []
    assert found.samples[-1].answered == 40
    assert found.figures[0].startswith("40 answers")
