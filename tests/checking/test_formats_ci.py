"""`check --format junit` and `--format github`: what CI systems read."""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from tests.checking.reports import MISSING, NEGATIVE, run, write_model
from triton_ensembles.checking.check_report import Report
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.fault import Fault, Place, Severity
from triton_ensembles.checking.formats import printed

pytestmark = pytest.mark.usefixtures("git_folder")


def suite(*arguments: object) -> Element:
    (only,) = ElementTree.fromstring(run(*arguments, "--format", "junit").stdout)
    return only


def test_an_error_is_a_failed_test() -> None:
    """Otherwise GitLab and Jenkins show a green job."""
    write_model(Path("models"), NEGATIVE)
    report = suite("models")
    (case,) = report.findall("testcase")
    assert (case.get("classname"), case.get("file"), case.get("line")) == (*["models/scale/config.pbtxt"] * 2, "2")
    assert case.get("name") == "max-batch-size-negative: max_batch_size is -1"
    failure = case.find("failure")
    assert failure is not None and failure.get("message") == "max_batch_size is -1"
    assert failure.text and failure.text.startswith("models/scale/config.pbtxt:2:17\nTriton refuses it")
    assert (report.get("tests"), report.get("failures"), report.get("skipped")) == ("1", "1", "0")


def test_a_warning_is_a_failed_test_with_strict_only() -> None:
    """Otherwise the report and the exit code contradict each other."""
    write_model(Path("models"), python_model(MISSING))
    report = suite("models")
    assert report.get("failures") == "0"
    names = [case.get("name") for case in report.findall("testcase") if len(case)]
    assert names == ["version-missing: there is no version 2"]
    assert suite("models", "--strict").get("failures") == "1"


def test_a_repository_without_faults_is_a_passed_test() -> None:
    """Otherwise CI systems take the report for a mistake: it has no tests."""
    write_model(Path("all/good"), python_model())
    write_model(Path("all/bad"), NEGATIVE)
    passed = [case for case in suite("all").findall("testcase") if not len(case)]
    assert [(case.get("classname"), case.get("name")) for case in passed] == [("all/good", "check")]


def test_accepted_and_known_faults_are_skipped_tests() -> None:
    """Otherwise they vanish from the report."""
    write_model(Path("models"), NEGATIVE)
    run("models", "--write-baseline", "known.json")
    write_model(Path("models"), python_model(f"# check: ignore[version-missing] next week\n{MISSING}"), "later")
    report = suite("models", "--baseline", "known.json")
    messages = {skipped.get("message") for skipped in report.findall("testcase/skipped")}
    assert messages == {"known: it is in the baseline", "suppressed: next week"}
    assert report.get("failures") == "0" and report.get("skipped") == "2"


def test_the_names_of_tests_do_not_change_when_lines_move() -> None:
    """Otherwise CI systems show a fixed test and a new one."""
    config = write_model(Path("models"), python_model("colour: 1\ncolour: 1"))
    before = [case.get("name") for case in suite("models").findall("testcase")]
    config.write_text("# moved\n" + config.read_text())
    assert [case.get("name") for case in suite("models").findall("testcase")] == before
    assert len(set(before)) == 2


_ODD = ["a&b<c>\"d'", "]]>", "nul\x00", "esc\x1b[31m", "\ufffe", "\ud800", "\udcff", "line\nline", "\U0001f600"]


@pytest.mark.parametrize("name", _ODD, ids=ascii)
def test_junit_is_xml_whatever_the_names_are(name: str) -> None:
    """Otherwise one file of an odd name makes the report unreadable."""
    faults = (
        Fault(Severity.ERROR, "config-syntax", Place(f"models/{name}", 1, 2), "bad", "effect", "cure"),
        Fault(Severity.WARNING, "version-missing", Place(f"models/{name}.tar.gz!{name}"), "bad"),
    )
    text = printed("junit", Report(faults, ("models", f"other/{name}")), 0)
    assert ElementTree.fromstring(text.encode())[0].get("tests") == "3"


def test_annotations_are_escaped() -> None:
    """Otherwise a name or a message ends the annotation, or makes another one."""
    place = Place("models/a,b:c%d\ne", 3, 4)
    fault = Fault(Severity.WARNING, "config-syntax", place, "50%\r\n::error::x, y: z", "effect", "cure")
    first, last = printed("github", Report((fault,), ("models",)), 0).splitlines()
    assert first == (
        "::warning file=models/a%2Cb%3Ac%25d\\ne,line=3,col=4,title=config-syntax::"
        "50%25%0D%0A::error::x, y: z%0Aeffect%0Afix: cure"
    )
    assert last.startswith("1 warning in 1 repository")
