"""Faults as workflow commands of GitHub Actions, which shows each beside its line."""

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.formats.text import gone_summary, summary
from triton_ensembles.checking.places import FilePlaces
from triton_ensembles.ground.errors import escaped

_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def printed(report: Report, seconds: float) -> str:
    """A line for each fault, and a summary at the end, which GitHub shows in the log only."""
    places = FilePlaces(report.roots)
    lines = []
    for fault in report.faults:
        place = places.of(fault)
        where = [f"file={_property(escaped(place.path))}"]
        where += [f"{name}={value}" for name, value in (("line", place.line), ("col", place.column)) if value]
        message = f"{escaped(place.member)}: {fault.message}" if place.member else fault.message
        body = _data("\n".join([message, *fault.notes]))
        lines.append(f"::{_KINDS[fault.severity]} {','.join(where)},title={_property(fault.rule)}::{body}")
    if report.gone:
        lines.append(f"::notice title=baseline::{_data(gone_summary(report))}")
    return "\n".join([*lines, f"{summary(report)} ({seconds:.2f} s)"])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
