"""Faults as one JSON document, for programs."""

import json

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.fault import Fault
from triton_ensembles.ground.errors import escaped


def printed(report: Report, seconds: float) -> str:
    """An object: ``faults`` and ``suppressed`` (lists), ``errors``, ``repositories`` and ``seconds``; with a baseline
    also ``known`` (a list like ``faults``) and ``gone``."""
    data: dict[str, object] = {
        "faults": [_record(fault) for fault in report.faults],
        "suppressed": [_record(accepted.fault) | {"reason": accepted.reason} for accepted in report.accepted],
        "errors": report.errors,
        "repositories": report.repositories,
        "seconds": round(seconds, 3),
    }
    if report.known is not None:
        data["known"] = [_record(fault) for fault in report.known]
        data["gone"] = [{"rule": entry.fingerprint.rule, "path": entry.path} for entry in report.gone]
    return json.dumps(data, indent=2, ensure_ascii=False)


def _record(fault: Fault) -> dict[str, str | int]:
    return {
        "severity": fault.severity.value,
        "rule": fault.rule,
        "path": escaped(fault.place.path),
        "line": fault.place.line,
        "column": fault.place.column,
        "message": fault.message,
        "effect": fault.effect,
        "cure": fault.cure,
    }
