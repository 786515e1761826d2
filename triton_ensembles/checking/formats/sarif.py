"""Faults as SARIF 2.1.0, the OASIS standard for results of static analysis; GitHub's code scanning reads it.

Its limits are in GitHub's page 'SARIF support for code scanning'; it also requires a line in every location.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.fault import Fault, Severity
from triton_ensembles.checking.fingerprint import Fingerprint, fingerprint
from triton_ensembles.checking.formats.text import gone_lines
from triton_ensembles.checking.places import FilePlace, FilePlaces
from triton_ensembles.checking.registry import RULES_BY_ID
from triton_ensembles.checking.suppression.accepted import Accepted
from triton_ensembles.ground.errors import escaped
from triton_ensembles.version import __version__

MOST_RESULTS = 25_000  # in one run
_ROOT = "%SRCROOT%"
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}
_FINGERPRINT = "tritonEnsemblesCheck/v1"


def printed(report: Report, _seconds: float) -> str:
    """A log with one run. It has nothing of the machine or the time: the same faults give the same text."""
    results = list(_found(report))
    # Of too many, the errors are kept.
    severest = sorted(results, key=lambda result: list(Severity).index(result[0].severity))
    kept = results if len(results) <= MOST_RESULTS else severest[:MOST_RESULTS]
    rules = sorted({fault.rule for fault, _ in kept})
    index_of = {id: index for index, id in enumerate(rules)}
    places = FilePlaces(report.roots)
    seen: Counter[tuple[str, str, Fingerprint]] = Counter()
    run = {
        "tool": {
            "driver": {"name": "triton-ensembles", "semanticVersion": __version__, "rules": [_rule(id) for id in rules]}
        },
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": list(_notifications(report, len(results)))}
        ],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the git repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(fault, index_of[fault.rule], places, seen) | more for fault, more in kept],
    }
    log = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, ensure_ascii=False)  # without an indent, which takes ten times as long


def _found(report: Report) -> Iterator[tuple[Fault, dict[str, Any]]]:
    state = {} if report.known is None else {"baselineState": "new"}
    every: list[tuple[Fault, dict[str, Any]]] = [(fault, state) for fault in report.faults]
    every += [(fault, {"baselineState": "unchanged"}) for fault in report.known or ()]
    every += [(accepted.fault, state | {"suppressions": [_suppression(accepted)]}) for accepted in report.accepted]
    yield from sorted(every, key=lambda result: result[0].sort_key())


def _suppression(accepted: Accepted) -> dict[str, str]:
    kind = "inSource" if accepted.in_source else "external"
    return {"kind": kind, "status": "accepted", "justification": escaped(accepted.reason)}


def _rule(id: str) -> dict[str, Any]:
    rule = RULES_BY_ID[id]
    command = f"triton-ensembles check --explain {id}"
    help = f"{rule.title}.\nSource: {rule.source}\nExamples and the fix: {command}"
    markdown = f"{rule.title}.\n\nSource: {rule.source}\n\nExamples and the fix: `{command}`"
    return {
        "id": id,
        "name": id.title().replace("-", ""),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": f"{rule.title}. Source: {rule.source}"},
        "help": {"text": help, "markdown": markdown},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {"tags": ["triton"], "problem.severity": _GITHUB_LEVELS[rule.severity]},
    }


def _result(
    fault: Fault, index: int, places: FilePlaces, seen: Counter[tuple[str, str, Fingerprint]]
) -> dict[str, Any]:
    place, same = places.of(fault), fingerprint(fault)
    seen[place.path, place.member, same] += 1
    inside = f"{place.member}: " if place.member else ""
    return {
        "ruleId": fault.rule,
        "ruleIndex": index,
        "level": fault.severity.value,
        "message": {"text": "\n".join([f"{escaped(inside)}{fault.message}", *fault.notes])},
        "locations": [_location(fault, place)],
        "partialFingerprints": {_FINGERPRINT: f"{same.digest}:{seen[place.path, place.member, same]}"},
    }


def _location(fault: Fault, place: FilePlace) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(place.line, 1)}
    if place.column:
        region["startColumn"] = place.column
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(place.path), "region": region}}
    if place.member:  # what services show is the archive: it is the file in git
        location["logicalLocations"] = [{"fullyQualifiedName": str(fault.place), "kind": "resource"}]
    return location


def _artifact(path: str) -> dict[str, str]:
    uri = quote(path.encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{uri}"} if uri.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}


def _notifications(report: Report, count: int) -> Iterator[dict[str, Any]]:
    if count > MOST_RESULTS:
        text = f"{count:,} results were found; these are {MOST_RESULTS:,} of them, errors first"
        yield {"level": "warning", "message": {"text": text}}
    if report.gone:
        yield {"level": "note", "message": {"text": "\n".join(gone_lines(report))}}
