"""The result of a search: for people, and as the content of its file."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from triton_ensembles.measuring.perf.sweep_report import Conditions, aligned
from triton_ensembles.measuring.tuning.search import Outcome
from triton_ensembles.measuring.tuning.space import PRESENT
from triton_ensembles.measuring.tuning.subject import Subject


@dataclass(frozen=True)
class TuningReport(Conditions):
    """The search of one ensemble.

    Attributes:
        minutes: the budget; ``spent_minutes`` is what the search took of it.
        diff: of the files that ``--write`` changes.
    """

    minutes: float
    spent_minutes: float
    subject: Subject
    outcome: Outcome
    diff: str

    def document(self) -> dict[str, Any]:
        """The content of NAME.json."""
        outcome, records = self.outcome, self.outcome.records
        front = records.front()
        return {
            **{field.name: getattr(self, field.name) for field in fields(Conditions)},
            "minutes": self.minutes,
            "spent_minutes": self.spent_minutes,
            "goal": asdict(self.subject.goal),
            "space": [asdict(setting) for setting in self.subject.settings],
            "notes": list(self.subject.notes),
            "best": {"settings": outcome.best.as_dict(), "concurrency": outcome.concurrency},
            "final": self._final(),
            "ended": outcome.ended,
            "trials": [
                {
                    "settings": trial.candidate.as_dict(),
                    **asdict(trial.times),
                    "rounds": trial.rounds,
                    "front": trial in front,
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
        ours, theirs = final.medians
        return {
            "settings": self.outcome.challenger.as_dict(),
            "ratio": round(final.ratio, 3),
            "ratio_of": "throughput" if final.counts_throughput else "p99",
            "rounds": [round(ratio, 3) for ratio in final.ratios],
            "settings_median": asdict(ours),
            "present_median": asdict(theirs),
        }


def tables(report: TuningReport) -> str:
    """The front, and how the best compares with the present settings, for a terminal."""
    outcome, goal = report.outcome, report.subject.goal
    rows = [["concurrency", "inferences/s", "p50 ms", "p99 ms", "rounds", "", "settings"]]
    for candidate, times, rounds in outcome.records.front():
        numbers = [f"{value:.1f}" for value in (times.throughput, times.p50_ms, times.p99_ms)]
        mark = "*" if goal.holds(times) else ""
        rows.append([str(times.concurrency), *numbers, str(rounds), mark, str(candidate)])
    lines = [
        "front of latency against throughput, over all candidates:",
        aligned(rows, last_is_text=True),
        f"* {goal}; medians of that number of rounds",
    ]
    lines += [f"dropped: {candidate}: {reason}" for candidate, reason in outcome.records.dropped.items()]
    return "\n".join([*lines, "", *_verdict(report)])


def _verdict(report: TuningReport) -> list[str]:
    outcome, final, goal = report.outcome, report.outcome.final, report.subject.goal
    spent = f"{outcome.ended}, after {report.spent_minutes:.1f} of {report.minutes:g} minutes"
    lines = [f"goal: {goal}; {spent}", f"best: {outcome.best}, at concurrency {outcome.concurrency}"]
    if final is not None:
        ratio_of = "the throughput of" if final.counts_throughput else "as low a p99 as with"
        (ours, theirs), low, high = final.medians, min(final.ratios), max(final.ratios)
        lines.append(
            f"{'' if outcome.proven else f'{outcome.challenger}: '}{final.ratio:.2f} times {ratio_of} the present "
            f"settings, {low:.2f} to {high:.2f} in {len(final.ratios)} rounds in turn: {ours.throughput:.1f} "
            f"instead of {theirs.throughput:.1f} inferences/s, p99 {ours.p99_ms:.1f} instead of {theirs.p99_ms:.1f} ms"
        )
    elif outcome.best != PRESENT:
        lines.append("it was not compared with the present settings in final rounds")
    if not any(goal.holds(trial.times) for trial in outcome.records.of(outcome.best)):
        lines.append("the goal was not reached")
    return lines
