"""Faults for people."""

from collections import Counter

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.fault import Fault, Severity

_MOST_GONE = 10


def printed(report: Report, seconds: float) -> str:
    """The faults, each with its effect and its fix below it, and a summary at the end."""
    lines = [line for fault in report.faults for line in fault_lines(fault)]
    return "\n".join([*lines, *gone_lines(report), f"{summary(report)} ({seconds:.2f} s)"])


def fault_lines(fault: Fault) -> list[str]:
    """``path:line:column: error[rule-id]: message``, the effect, and the fix."""
    return [f"{fault.place}: {fault.severity}[{fault.rule}]: {fault.message}", *(f"    {note}" for note in fault.notes)]


def error_lines(report: Report) -> str:
    """The errors alone, without a summary."""
    errors = (fault for fault in report.faults if fault.severity is Severity.ERROR)
    return "\n".join(line for fault in errors for line in fault_lines(fault))


def gone_lines(report: Report) -> list[str]:
    """The lines about entries of the baseline whose faults are gone."""
    if not report.gone:
        return []
    counts = Counter((entry.path, entry.fingerprint.rule) for entry in report.gone)
    shown = [
        f"    {path}: {rule}" + (f" ({count} times)" if count > 1 else "") for (path, rule), count in counts.items()
    ]
    more = [f"    and {len(shown) - _MOST_GONE} more"] if len(shown) > _MOST_GONE else []
    return [gone_summary(report), *shown[:_MOST_GONE], *more]


def gone_summary(report: Report) -> str:
    """A line about such entries; "" when there are none."""
    if not report.gone:
        return ""
    is_or_are = "is" if len(report.gone) == 1 else "are"
    return f"{_count(len(report.gone), 'fault')} of the baseline {is_or_are} gone; write it again with --write-baseline"


def summary(report: Report) -> str:
    """``2 errors and 1 warning in 2 repositories, 1 suppressed`` or ``no faults in 1 repository``."""
    counts = [
        _count(sum(fault.severity is severity for fault in report.faults), severity.value) for severity in Severity
    ]
    named = [count for count in counts if not count.startswith("0 ")]
    counted = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    repositories = "repository" if report.repositories == 1 else "repositories"
    new = "no new faults" if report.known is not None else "no faults"
    apart_from = [(len(report.known or ()), "known"), (len(report.accepted), "suppressed")]
    apart = "".join(f", {number:,} {word}" for number, word in apart_from if number)
    return f"{counted or new} in {report.repositories} {repositories}{apart}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
