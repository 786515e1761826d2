"""Faults as text for people, JSON for programs, and annotations for GitHub Actions."""

import json
from collections.abc import Callable
from dataclasses import asdict, astuple

from triton_ensembles.check.checker import Report
from triton_ensembles.check.fault import Fault, Severity


def as_text(report: Report, seconds: float) -> str:
    """The faults, each with its effect and its fix below it, and a summary at the end."""
    lines = [line for fault in report.faults for line in fault_lines(fault)]
    return "\n".join([*lines, f"{summary(report)} ({seconds:.2f} s)"])


def fault_lines(fault: Fault) -> list[str]:
    """``path:line:column: error[rule-id]: message``, the effect, and the fix."""
    parts = (fault.effect, fault.cure and f"fix: {fault.cure}")
    return [
        f"{fault.place}: {fault.severity}[{fault.rule}]: {fault.message}",
        *(f"    {part}" for part in parts if part),
    ]


def summary(report: Report) -> str:
    """``2 errors and 1 warning in 2 repositories`` or ``no faults in 1 repository``."""
    counts = [
        _count(sum(fault.severity is severity for fault in report.faults), severity.value) for severity in Severity
    ]
    named = [count for count in counts if not count.startswith("0 ")]
    found = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named) or "no faults"
    repositories = "repository" if report.repositories == 1 else "repositories"
    return f"{found} in {report.repositories} {repositories}"


def as_json(report: Report, seconds: float) -> str:
    """One object: ``faults`` (a list), ``errors``, ``repositories`` and ``seconds``."""
    data = {
        "faults": [_record(fault) for fault in report.faults],
        "errors": report.errors,
        "repositories": report.repositories,
        "seconds": round(seconds, 3),
    }
    return json.dumps(data, indent=2, ensure_ascii=False)


def as_github(report: Report, seconds: float) -> str:
    """Workflow commands: GitHub shows each fault beside its line."""
    lines = []
    for fault in report.faults:
        kind = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}[fault.severity]
        path, line, column = astuple(fault.place)
        where = f"file={_property(path)}" + (f",line={line},col={column}" if line else "")
        body = "\n".join(part for part in (fault.message, fault.effect, fault.cure) if part)
        lines.append(f"::{kind} {where},title={_property(fault.rule)}::{_escaped(body)}")
    return "\n".join([*lines, f"{summary(report)} ({seconds:.2f} s)"])


FORMATS: dict[str, Callable[[Report, float], str]] = {"text": as_text, "json": as_json, "github": as_github}


def _record(fault: Fault) -> dict[str, str | int]:
    return {
        "severity": fault.severity.value,
        "rule": fault.rule,
        **asdict(fault.place),
        "message": fault.message,
        "effect": fault.effect,
        "cure": fault.cure,
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
