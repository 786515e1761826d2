"""Faults as JUnit XML, which GitLab, Jenkins and others show as test results.

A fault that makes ``check`` exit with 1 is a failed test; other faults are passed tests with an output, and accepted
ones are skipped tests. A repository without a failed test is a passed one, because these services take a report
without tests for a mistake.
"""

from collections import Counter
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.fault import Fault, is_in
from triton_ensembles.checking.formats.text import gone_lines, summary
from triton_ensembles.checking.places import FilePlaces
from triton_ensembles.ground.errors import escaped

_NAME = "triton-ensembles check"


def printed(report: Report, seconds: float) -> str:
    """A ``<testsuites>`` with one ``<testsuite>``."""
    suite = _Suite(report)
    for fault in report.faults:
        if report.fails(fault):
            suite.add(fault, "failure", type=fault.severity.value, message=fault.message).text = _details(fault)
        else:
            suite.add(fault, "system-out").text = f"{fault.severity}: {fault.message}\n{_details(fault)}"
    for known in report.known or ():
        suite.add(known, "skipped", message="known: it is in the baseline")
    for accepted in report.accepted:
        suite.add(accepted.fault, "skipped", message=f"suppressed: {escaped(accepted.reason)}")
    failed = [fault.place.path for fault in report.faults if report.fails(fault)]
    for root in report.roots:
        if not any(is_in(path, root) for path in failed):
            suite.add_passed(root)
    return suite.text(seconds)


class _Suite:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._places = FilePlaces(report.roots)
        self._suite = Element("testsuite", name=_NAME)
        self._names: Counter[tuple[str, str]] = Counter()

    def add(self, fault: Fault, result: str, **attributes: str) -> Element:
        """Add a test, and return the element that says how it ended. Its name has no line: services compare runs."""
        place = self._places.of(fault)
        file = escaped(place.path)
        where = f"{file}!{escaped(place.member)}" if place.member else file
        name = f"{fault.rule}: {fault.message}"
        self._names[where, name] += 1
        again = self._names[where, name]
        case = SubElement(self._suite, "testcase", classname=where, name=f"{name} ({again})" if again > 1 else name)
        case.attrib |= {"file": file} | ({"line": str(place.line)} if place.line else {})
        return SubElement(case, result, attributes)

    def add_passed(self, root: str) -> None:
        SubElement(self._suite, "testcase", classname=escaped(self._places.relative(root)), name="check")

    def text(self, seconds: float) -> str:
        suites = Element("testsuites", name=_NAME)
        for element in (suites, self._suite):
            counted = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
            element.attrib |= {name: str(len(self._suite.findall(path))) for name, path in counted.items()}
            element.attrib |= {"errors": "0", "time": f"{seconds:.3f}"}
        lines = [*gone_lines(self._report), summary(self._report)]
        SubElement(self._suite, "system-out").text = "\n".join(lines)
        suites.append(self._suite)
        indent(suites)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(suites, encoding="unicode")


def _details(fault: Fault) -> str:
    return "\n".join([str(fault.place), *fault.notes])
