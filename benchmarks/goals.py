"""Where the ensembles must arrive, as data: two cores, CPU, fp32, ratios within one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contenders.names import ALL_CORES, LIMITS, OURS, OURS_BF16, PEER_NAMES, REFERENCE
from benchmarks.loads import Load
from benchmarks.results import Results

_SHORT_1, _SHORT_32 = (Load("short", rows, 0) for rows in (1, 32))
_SORTED = (Load("mix", 8, 0, sorted=True), Load("mix", 32, 0, sorted=True))


@dataclass(frozen=True)
class Goal:
    """``over`` under ``load`` shall have at least ``least`` times the throughput of the best of ``against``.

    Attributes:
        loads: of those in ``against``; empty: the same load.
    """

    least: float
    over: str
    load: Load
    against: Sequence[str]
    loads: Sequence[Load] = ()
    against_in_words: str = ""


@dataclass(frozen=True)
class Verdict:
    """One row of the table of goals. ``met`` is None when it was not measured."""

    goal: str
    least: str
    measured: str
    against: str
    met: bool | None

    @property
    def word(self) -> str:
        return {True: "met", False: "MISSED", None: "not measured"}[self.met]


def _limit(least: float, load: Load, loads: Sequence[Load], words: str) -> Goal:
    return Goal(least, OURS, load, LIMITS, loads, words)


GOALS = (
    _limit(0.95, Load("short", 32, 8), [_SHORT_32], "the limit at batch 32"),
    _limit(0.85, Load("short", 1, 32), [_SHORT_32], "the limit at batch 32"),
    Goal(1.25, OURS, Load("short", 1, 32), PEER_NAMES, (), "the best peer"),
    # Two processes side by side are no limit of one request at a time.
    Goal(0.75, OURS, Load("short", 1, 1), (ALL_CORES,), [_SHORT_1], "the limit at batch 1, one at a time"),
    Goal(2.5, OURS, Load("short", 1, 1), PEER_NAMES, (), "the best peer"),
    _limit(0.9, Load("mix", 32, 8), _SORTED, "the limit with batches sorted by length"),
    _limit(0.9, Load("mix", 1, 32), _SORTED, "the limit with batches sorted by length"),
    *(
        Goal(8, OURS, Load("short", rows, concurrency), (REFERENCE,), (), "the reference")
        for rows, concurrency in ((1, 1), (1, 32), (32, 8))
    ),
    *(
        _limit(0.95, Load("images", rows, 4), [Load("images", rows, 0)], f"the limit at batch {rows}")
        for rows in (1, 8)
    ),
    Goal(1.8, OURS_BF16, Load("short", 32, 8), (OURS,), (), "our own fp32"),
    *(Goal(1.8, OURS_BF16, Load("images", rows, 4), (OURS,), (), "our own fp32") for rows in (1, 8)),
    Goal(1.9, OURS_BF16, Load("short", 32, 8), PEER_NAMES, (), "the best peer"),
)
START_GOALS = {
    "cold_start_deployed": (10, "bert_trt as `deploy` starts it: cold start this many times shorter"),
    "cold_start": (10, "bert_trt with the reference's flags: cold start this many times shorter"),
    "archive_without_weights": (20, "bert_trt: archive without weights this many times smaller"),
}
"""By the names of the ratios in start.json (python -m benchmarks.start)."""
LEAST_COSINE = 0.9995
"""Of bf16 to fp32; the best class of every image must be the same."""


def verdicts(results: Results) -> list[Verdict]:
    """All goals that are ratios of throughput, and those of bf16's accuracy."""
    return [_verdict(goal, results) for goal in GOALS] + _accuracy(results)


def start_verdicts(ratios: Mapping[str, float]) -> list[Verdict]:
    """The goals of cold start and archive size, by the ratios in start.json; a missing one was not measured."""
    found = []
    for name, (least, words) in START_GOALS.items():
        measured = ratios.get(name)
        met = None if measured is None else measured >= least
        found.append(Verdict(words, f"{least} times", f"{measured:.1f}" if measured else "", "the reference", met))
    return found


def _verdict(goal: Goal, results: Results) -> Verdict:
    loads = goal.loads or (goal.load,)
    ratio = results.ratio((goal.over, goal.load), [(name, load) for name in goal.against for load in loads])
    return Verdict(
        goal=f"{goal.over}: {goal.load}",
        least=f"{goal.least:g} times {goal.against_in_words}",
        measured=str(ratio) if ratio else "",
        against=ratio.against if ratio else "",
        met=ratio.median >= goal.least if ratio else None,
    )


def _accuracy(results: Results) -> list[Verdict]:
    found = []
    for name, measured in results.agreement.items():
        cosine = measured["least_cosine"]
        found.append(
            Verdict(f"{name} bf16: cosine", f"{LEAST_COSINE}", f"{cosine}", "fp32, least row", cosine >= LEAST_COSINE)
        )
        if (top := measured.get("same_top_1")) is not None:
            found.append(Verdict(f"{name} bf16: same top-1", "1", f"{top:g}", "fp32, share of rows", top == 1))
    return found
