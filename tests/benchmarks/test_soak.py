"""The short form of ``make soak``: more ensembles than fit into the memory, asked by several clients at once."""

from __future__ import annotations

from pathlib import Path

from benchmarks.soak.__main__ import Plan, soak


def test_more_ensembles_than_fit_answer_rightly_and_leave_nothing(tmp_path: Path) -> None:
    """No request fails, each answer is that of the model that was asked, and the container stays within its budget. So
    short a run says nothing of growth."""
    found = soak(tmp_path, Plan(models=30, requests=40, clients=4, seconds=600), lambda _: None)
    assert [fault for fault in found.faults if " grew from " not in fault] == []
    assert found.samples[-1].answered == 40
    assert found.figures[0].startswith("40 answers")
