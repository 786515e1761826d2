"""The goals, as data: on two cores, without a GPU; ratios within one run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.contenders.contender import (
    AWS_GATEWAY,
    DIRECT,
    DRAWN,
    ENGINE,
    ENGINE_BF16,
    FUSED,
    FUSED_BF16,
    GATEWAY,
    LIMITS,
    PEER_NAMES,
    REFERENCE,
)
from benchmarks.floor import floor
from benchmarks.loads import Load
from benchmarks.parts import BATCH, BATCHES, IMAGE_BATCH, IMAGE_ONE, MANY, MIX_BATCH, MIX_ONE, ONE, SORTED
from benchmarks.results import Rates, Ratio, Results, ratio_of
from benchmarks.tables import Table


@dataclass(frozen=True)
class Other:
    """What a throughput is compared with: in words, and its rates for a load of servers."""

    words: str
    rates: Callable[[Results, Load], Rates]


@dataclass(frozen=True)
class SpeedGoal:
    """``over`` under ``load`` shall have at least ``least`` times the throughput of ``other``.

    ``bound`` is what no server can have more than; by default the floor.
    """

    load: Load
    least: float
    other: Other
    over: str = FUSED
    bound: Other | None = None

    @property
    def sentence(self) -> str:
        return f"{self.over}, {self.load}: at least {self.least:g} times {self.other.words}"

    def ratio(self, results: Results) -> Ratio | None:
        return ratio_of(results.rates(self.over, self.load), self.other.rates(results, self.load))

    def arithmetic(self, results: Results) -> str:
        """Why the goal is out of reach, if the bound itself does not reach it."""
        bound = self.bound or _FLOOR
        ratio = ratio_of(bound.rates(results, self.load), self.other.rates(results, self.load))
        if self.other is _FLOOR or ratio is None or ratio.median >= self.least:
            return ""
        return f"out of reach: {bound.words} itself is {ratio.median:.2f} times {self.other.words}"


@dataclass(frozen=True)
class FigureGoal:
    """A figure that is not a throughput shall be at most ``bound``, or at least with ``least``.

    ``reach`` says in words what the figure KEY_reach is: what could be had at best.
    """

    words: str
    bound: float
    unit: str = ""
    least: bool = False
    digits: int = 2
    reach: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.words}: at {'least' if self.least else 'most'} {self.bound:g}{self.unit}"

    def met(self, figure: float) -> bool:
        return figure >= self.bound if self.least else figure <= self.bound

    def arithmetic(self, best: float | None) -> str:
        """Why the goal is out of reach, if what could be had at best does not reach it."""
        if best is None or self.met(best):
            return ""
        return f"out of reach: {self.reach} {self.measured(best)}"

    def measured(self, figure: float) -> str:
        return f"{figure:.{self.digits}f}{self.unit}"


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


def _served(words: str, *names: str) -> Other:
    """The best of these under the same load."""
    return Other(words, lambda results, load: results.best(names, [load]))


def _batches(words: str, names: Sequence[str], loads: Sequence[Load] = ()) -> Other:
    """The best of these in the batches of ``loads``, or of the load's own size."""
    return Other(words, lambda results, load: results.best(names, loads or [BATCHES[load]]))


_FLOOR = Other("the floor", floor)
_DRAWN, _PEER = _served("the drawn form", DRAWN), _served("the best peer", *PEER_NAMES)
_REFERENCE = _served("the reference", REFERENCE)
_LIMIT = _batches("the limit", LIMITS)
_BY_LENGTH = _batches("the limit with batches sorted by length", LIMITS, SORTED)
_AWS_GATEWAY = _served("the reference after AWS's gateway", AWS_GATEWAY)
_ENGINE_BF16 = _batches("the engine alone in bf16", [ENGINE_BF16])


def _beside_aws(model: str) -> SpeedGoal:
    engine = _batches("the engine alone", [ENGINE], [Load(model, 8, 0), Load(model, 1, 0)])
    return SpeedGoal(Load(model, 1, 8), 3, _AWS_GATEWAY, GATEWAY, engine)


SPEED: Mapping[str, SpeedGoal] = {
    "one_floor": SpeedGoal(ONE, 0.85, _FLOOR),
    "one_drawn": SpeedGoal(ONE, 1.3, _DRAWN),
    "one_peer": SpeedGoal(ONE, 2.0, _PEER),
    "many_floor": SpeedGoal(MANY, 0.85, _FLOOR),
    "many_peer": SpeedGoal(MANY, 1.55, _PEER),
    "many_reference": SpeedGoal(MANY, 8, _REFERENCE),
    "batch_limit": SpeedGoal(BATCH, 1.0, _LIMIT),
    "batch_reference": SpeedGoal(BATCH, 8, _REFERENCE),
    "mix_many_limit": SpeedGoal(MIX_ONE, 0.9, _BY_LENGTH),
    "mix_batch_limit": SpeedGoal(MIX_BATCH, 0.9, _BY_LENGTH),
    "image_limit": SpeedGoal(IMAGE_ONE, 0.93, _LIMIT),
    "images_limit": SpeedGoal(IMAGE_BATCH, 0.93, _LIMIT),
    "bf16_engine": SpeedGoal(BATCH, 0.95, _ENGINE_BF16, FUSED_BF16),
    "gateway_resnet": _beside_aws("resnet"),
    "gateway_bert_base": _beside_aws("bert_base"),
    "gateway_direct": SpeedGoal(Load("resnet", 1, 8), 0.95, _served("the Triton behind it", DIRECT), GATEWAY),
    "bf16_peer": SpeedGoal(BATCH, 1.9, _PEER, FUSED_BF16),
}
_MIB, _MB, _S = " MiB", " MB", " s"
FIGURES: Mapping[str, FigureGoal] = {
    "memory_fused_1": FigureGoal("memory of one loaded bert_trt, fused with one instance", 180, _MIB, digits=0),
    "memory_fused_2": FigureGoal("memory of one loaded bert_trt, fused with two instances", 240, _MIB, digits=0),
    "memory_drawn": FigureGoal("memory of one loaded bert_trt, drawn", 330, _MIB, digits=0),
    "memory_16": FigureGoal("memory of each of 16 loaded, fused with one instance", 100, _MIB, digits=0),
    "memory_64": FigureGoal("memory of each of 64 loaded, fused with one instance", 100, _MIB, digits=0),
    "turns_fused": FigureGoal("16 loaded, requests in turn, fused: throughput of one alone", 0.55, " times", True),
    "turns_drawn": FigureGoal("16 loaded, requests in turn, drawn: throughput of one alone", 0.51, " times", True),
    "cold_fused": FigureGoal("cold start of bert_trt, fused: time of the drawn form before", 0.65, " times"),
    "cold_drawn": FigureGoal("cold start of bert_trt, drawn: time of the drawn form before", 0.8, " times"),
    "cold_reference": FigureGoal(
        "cold start of the reference: time of bert_trt, drawn", 10, " times", least=True, digits=1
    ),
    "left_fused": FigureGoal("left in /tmp after the unload, fused", 0, " kB", digits=0),
    "left_drawn": FigureGoal("left in /tmp after the unload, drawn", 0, " kB", digits=0),
    "size_drawn": FigureGoal("archive without weights, drawn", 30, _MB, digits=1),
    "size_wheels": FigureGoal("archive without weights, drawn with wheels", 5, _MB, digits=1),
    "size_fused": FigureGoal("archive without weights, fused", 45, _MB, digits=1),
    "gateway_memory": FigureGoal(
        "memory of the gateway: that of the reference after AWS's",
        0.33,
        " times",
        reach="a gateway that takes no memory, over the engines as the reference has them, has",
    ),
    "cli_help": FigureGoal("processor time of --help", 0.25, _S),
    "cli_check": FigureGoal("processor time of check, bert_trt", 0.5, _S),
    "cli_check_1000": FigureGoal("processor time of check, 1,000 models", 5, _S),
}
LOWEST_COSINE = 0.9995


def verdicts(results: Results) -> list[Verdict]:
    """One for each goal, and one for the accuracy of each ensemble in bf16."""
    found = []
    for goal in SPEED.values():
        ratio = goal.ratio(results)
        met = ratio.median >= goal.least if ratio else None
        found.append(Verdict(goal.sentence, str(ratio) if ratio else "", met, goal.arithmetic(results)))
    for name, cosine in results.cosines.items():
        words = f"{name} in bf16: the lowest cosine to fp32 is at least {LOWEST_COSINE}"
        found.append(Verdict(words, f"{cosine:.6f}", cosine >= LOWEST_COSINE))
    for key, each in FIGURES.items():
        figure = results.figures.get(key)
        measured, met = ("", None) if figure is None else (each.measured(figure), each.met(figure))
        found.append(Verdict(each.sentence, measured, met, each.arithmetic(results.figures.get(f"{key}_reach"))))
    return found


def goals_table(verdicts: Sequence[Verdict]) -> Table:
    rows = [[each.goal, each.measured or "-", each.result] for each in verdicts]
    return Table("Goals", ["goal", "measured", "result"], rows)
