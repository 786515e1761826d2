"""The goals, as data: on two cores, without a GPU, in fp32; ratios within one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contenders.contender import ALL_CORES, LIMITS, OURS, OURS_BF16, PEER_NAMES, REFERENCE
from benchmarks.loads import Load
from benchmarks.results import Ratio, Results


@dataclass(frozen=True)
class Goal:
    """``over`` under ``load`` shall have at least ``least`` times the throughput of the best of ``against``.

    Attributes:
        words: what ``against`` is.
        loads: of those in ``against``; empty: the same load.
    """

    least: float
    load: Load
    words: str
    against: Sequence[str]
    loads: Sequence[Load] = ()
    over: str = OURS

    @property
    def sentence(self) -> str:
        precision = " in bf16" if self.over == OURS_BF16 else ""
        return f"{self.load}{precision}: the throughput is at least {self.least:g} times that of {self.words}"

    def ratio(self, results: Results) -> Ratio | None:
        candidates = [(name, load) for name in self.against for load in self.loads or (self.load,)]
        return results.ratio((self.over, self.load), candidates)


@dataclass(frozen=True)
class Verdict:
    """One row of the table of goals. ``met`` is None when it was not measured."""

    goal: str
    measured: str
    met: bool | None
    why: str = ""

    @property
    def result(self) -> str:
        missed = f"missed: {self.why}" if self.why else "missed"
        return {True: "met", False: missed, None: "not measured"}[self.met]


_SHORT_1, _SHORT_32 = Load("short", 1, 0), Load("short", 32, 0)
_SORTED = (Load("mix", 8, 0, sorted=True), Load("mix", 32, 0, sorted=True))
_BATCH_32, _PEER, _REFERENCE = "the limit with batches of 32", "the best peer", "the reference"
_BY_LENGTH = "the limit with batches sorted by length"
_FP32 = "our own fp32"
_TWO_ENGINES = "this limit is two engines with one thread each, which would take twice the memory in the server"
_DECODING = "only the network is twice as fast in bf16; decoding the JPEG is not"

GOALS = {
    "batch_limit": Goal(0.95, Load("short", 32, 8), _BATCH_32, LIMITS, [_SHORT_32]),
    "many_limit": Goal(0.85, Load("short", 1, 32), _BATCH_32, LIMITS, [_SHORT_32]),
    "many_peer": Goal(1.25, Load("short", 1, 32), _PEER, PEER_NAMES),
    # Two processes side by side are not a limit of one request at a time.
    "one_limit": Goal(0.75, Load("short", 1, 1), "the limit on all cores, one at a time", (ALL_CORES,), [_SHORT_1]),
    "one_peer": Goal(2.5, Load("short", 1, 1), _PEER, PEER_NAMES),
    "mix_batch_limit": Goal(0.9, Load("mix", 32, 8), _BY_LENGTH, LIMITS, _SORTED),
    "mix_many_limit": Goal(0.9, Load("mix", 1, 32), _BY_LENGTH, LIMITS, _SORTED),
    "one_reference": Goal(8, Load("short", 1, 1), _REFERENCE, (REFERENCE,)),
    "many_reference": Goal(8, Load("short", 1, 32), _REFERENCE, (REFERENCE,)),
    "batch_reference": Goal(8, Load("short", 32, 8), _REFERENCE, (REFERENCE,)),
    "image_limit": Goal(0.95, Load("images", 1, 4), "the limit with batches of 1", LIMITS, [Load("images", 1, 0)]),
    "images_limit": Goal(0.95, Load("images", 8, 4), "the limit with batches of 8", LIMITS, [Load("images", 8, 0)]),
    "bf16_batch": Goal(1.8, Load("short", 32, 8), _FP32, (OURS,), over=OURS_BF16),
    "bf16_image": Goal(1.8, Load("images", 1, 4), _FP32, (OURS,), over=OURS_BF16),
    "bf16_images": Goal(1.8, Load("images", 8, 4), _FP32, (OURS,), over=OURS_BF16),
    "bf16_peer": Goal(1.9, Load("short", 32, 8), _PEER, PEER_NAMES, over=OURS_BF16),
}
WHY_MISSED = {
    "many_limit": "gRPC and the two Python steps share the cores with the engine, and its batches are smaller than 32",
    "one_limit": "gRPC and the Python steps take a third of the time; the engine is slower than in the limit's loop",
    "one_peer": "the limit itself is about 3 times the best peer, and the server reaches half of it",
    "one_reference": "out of reach: the limit itself is about 6.5 times the reference for one sentence at a time",
    "image_limit": _TWO_ENGINES,
    "images_limit": _TWO_ENGINES,
    "bf16_batch": "only the engine computes in bf16, by itself 1.6 to 1.8 times as fast; the rest does not",
    "bf16_image": _DECODING,
    "bf16_images": _DECODING,
}
"""As the measurements so far explain it; shown beside a goal that a run misses."""
START_GOALS = {
    "cold_start_deployed": (10, "bert_trt as `deploy` starts it: its cold start is {} times shorter"),
    "cold_start": (10, "bert_trt with the reference's flags: its cold start is {} times shorter"),
    "archive_without_weights": (20, "bert_trt: its archive without the weights is {} times smaller"),
}
"""By the names of the ratios in start.json (python -m benchmarks.start)."""
LOWEST_COSINE = 0.9995


def verdicts(results: Results) -> list[Verdict]:
    """All goals that are ratios of throughput, and those of bf16's accuracy."""
    found = []
    for key, goal in GOALS.items():
        ratio = goal.ratio(results)
        met = ratio.median >= goal.least if ratio else None
        found.append(Verdict(goal.sentence, str(ratio) if ratio else "", met, WHY_MISSED.get(key, "")))
    for name, measured in results.agreement.items():
        cosine = measured["lowest_cosine"]
        words = f"{name} in bf16: the lowest cosine to fp32 is at least {LOWEST_COSINE}"
        found.append(Verdict(words, f"{cosine}", cosine >= LOWEST_COSINE))
        if (top := measured.get("same_top_1")) is not None:
            words = f"{name} in bf16: every image has the same best class as in fp32"
            found.append(Verdict(words, f"{top:.0%}", top == 1))
    return found


def start_verdicts(ratios: Mapping[str, float]) -> list[Verdict]:
    """The goals of cold start and archive size, by the ratios in start.json; a missing one was not measured."""
    found = []
    for name, (least, words) in START_GOALS.items():
        measured = ratios.get(name)
        met = None if measured is None else measured >= least
        goal = f"{words.format(f'at least {least}')} than the reference's"
        found.append(Verdict(goal, f"{measured:.1f}" if measured else "", met))
    return found
