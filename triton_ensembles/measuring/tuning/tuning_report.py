"""The result of a search: for people, and as the content of its file."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from triton_ensembles.measuring.perf.sweep_report import Conditions, aligned
from triton_ensembles.measuring.tuning.goal import Goal, median_point
from triton_ensembles.measuring.tuning.search import Outcome
from triton_ensembles.measuring.tuning.space import PRESENT, Setting


@dataclass(frozen=True)
class TuningReport(Conditions):
    """The search of one ensemble.

    Attributes:
        minutes: the budget; ``spent_minutes`` is what the search took of it.
        notes: what was left as it is, and why.
        diff: of the files that ``--write`` changes.
    """

    minutes: float
    spent_minutes: float
    goal: Goal
    settings: tuple[Setting, ...]
    notes: tuple[str, ...]
    outcome: Outcome
    diff: str

    def document(self) -> dict[str, Any]:
        """The content of NAME.json."""
        outcome, records = self.outcome, self.outcome.records
        on_front = set(records.front())
        return {
            **{field.name: getattr(self, field.name) for field in fields(Conditions)},
            "minutes": self.minutes,
            "spent_minutes": self.spent_minutes,
            "goal": asdict(self.goal),
            "space": [asdict(setting) for setting in self.settings],
            "notes": list(self.notes),
            "best": {"settings": outcome.best.as_dict(), "concurrency": outcome.concurrency},
            "final": self._final(),
            "ended": outcome.ended,
            "trials": [
                {
                    "settings": trial.candidate.as_dict(),
                    **asdict(trial.point),
                    "rounds": trial.rounds,
                    "front": trial in on_front,
                }
                for trial in records.trials()
            ],
            "dropped": [
                {"settings": candidate.as_dict(), "reason": reason} for candidate, reason in records.dropped.items()
            ],
            "diff": self.diff,
        }

    def _final(self) -> dict[str, Any] | None:
        final = self.outcome.final
        if final is None:
            return None
        counts = "throughput" if self.goal.measures_throughput(final.points) else "p99"
        return {
            "settings": self.outcome.challenger.as_dict(),
            "ratio": round(final.ratio, 3),
            "ratio_of": counts,
            "rounds": [round(ratio, 3) for ratio in final.ratios],
            "settings_median": asdict(median_point(final.points)),
            "present_median": asdict(median_point(final.references)),
        }


def tables(report: TuningReport) -> str:
    """The front, and how the best compares with the present settings, for a terminal."""
    outcome, goal = report.outcome, report.goal
    rows = [["concurrency", "inferences/s", "p50 ms", "p99 ms", "rounds", "", "settings"]]
    for trial in outcome.records.front():
        point = trial.point
        numbers = [f"{value:.1f}" for value in (point.throughput, point.p50_ms, point.p99_ms)]
        numbers.append(str(trial.rounds))
        rows.append([str(point.concurrency), *numbers, "*" if goal.holds(point) else "", str(trial.candidate)])
    bound = "the p99" if goal.p99_ms is not None else "the throughput"
    lines = [
        "front of latency against throughput, over all candidates:",
        aligned(rows, last_is_text=True),
        f"* {bound} is as wanted; medians of that number of rounds",
    ]
    lines += [f"dropped: {candidate}: {reason}" for candidate, reason in outcome.records.dropped.items()]
    return "\n".join([*lines, "", *_verdict(report)])


def _verdict(report: TuningReport) -> list[str]:
    outcome, goal, final = report.outcome, report.goal, report.outcome.final
    spent = f"{outcome.ended}, after {report.spent_minutes:.1f} of {report.minutes:g} minutes"
    lines = [f"goal: {goal}; {spent}", f"best: {outcome.best}, at concurrency {outcome.concurrency}"]
    if final is not None:
        held = goal.measures_throughput(final.points)
        ratio_of = "the throughput of" if held else "as low a p99 as with"
        ours, theirs = median_point(final.points), median_point(final.references)
        low, high = min(final.ratios), max(final.ratios)
        lines.append(
            f"{'' if outcome.proven else f'{outcome.challenger}: '}{final.ratio:.2f} times {ratio_of} the present "
            f"settings, {low:.2f} to {high:.2f} in {len(final.ratios)} rounds in turn: {ours.throughput:.1f} "
            f"instead of {theirs.throughput:.1f} inferences/s, p99 {ours.p99_ms:.1f} instead of {theirs.p99_ms:.1f} ms"
        )
    elif outcome.best != PRESENT:
        lines.append("it was not compared with the present settings in final rounds")
    own = [trial.point for trial in outcome.records.of(outcome.best)]
    if not any(goal.reached(point) for point in own):
        lines.append("the goal was not reached")
    return lines
