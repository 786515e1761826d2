"""`check --baseline`: old faults are known, new ones fail, and those that are gone are named."""

import json
from pathlib import Path

import pytest

from tests.checking.reports import NEGATIVE, run, write_model
from tests.repositories import pack
from triton_ensembles.checking.examples import python_model
from triton_ensembles.checking.fault import Fault, Place, Severity
from triton_ensembles.checking.fingerprint import fingerprint

pytestmark = pytest.mark.usefixtures("git_folder")
MODELS, KNOWN = Path("models"), Path("known.json")


def written() -> str:
    result = run(MODELS, "--write-baseline", KNOWN)
    assert result.exit_code == 0, result.output
    return KNOWN.read_text()


def test_known_faults_do_not_fail_and_new_ones_do() -> None:
    """Otherwise a team with old faults cannot begin to use check."""
    write_model(MODELS, NEGATIVE)
    assert run(MODELS).exit_code == 1
    written()
    known = run(MODELS, "--baseline", KNOWN)
    assert known.exit_code == 0 and "no new faults in 1 repository, 1 known" in known.output
    write_model(MODELS, NEGATIVE, "second")
    new = run(MODELS, "--baseline", KNOWN)
    assert new.exit_code == 1 and "models/second/config.pbtxt:2:17" in new.output
    assert "models/scale/" not in new.output and "1 error in 1 repository, 1 known" in new.output


def test_a_second_fault_of_the_same_kind_in_the_same_file_is_new() -> None:
    """Otherwise a file with one known fault may get any number of them."""
    config = write_model(MODELS, python_model("colour: 1"))
    written()
    for line in ("colour: 1", "color: 2"):
        config.write_text(python_model("colour: 1", line))
        assert run(MODELS, "--baseline", KNOWN).exit_code == 1, line


def test_a_fault_stays_known_when_its_line_moves() -> None:
    """Otherwise any edit of a file makes all its old faults new, and what a config lacks as a whole."""
    text = python_model(backend="", size=-1)
    config = write_model(MODELS, text)
    (MODELS / "scale" / "1" / "model.py").unlink()
    written()
    down, indented = f"# A comment.\n\n{text}", text.replace("max_batch_size: -1", "  max_batch_size:   -1")
    for moved in (down, indented, "".join(reversed(text.splitlines(keepends=True))), text.replace("\n", "\r\n")):
        config.write_text(moved, newline="")
        assert run(MODELS, "--baseline", KNOWN).exit_code == 0, moved


def test_a_fault_that_is_gone_is_named() -> None:
    """Otherwise the baseline never shrinks, and lets old faults come back."""
    write_model(MODELS, NEGATIVE)
    write_model(MODELS, NEGATIVE, "other")
    written()
    write_model(MODELS, python_model())
    result = run(MODELS, "--baseline", KNOWN)
    assert result.exit_code == 0
    assert "1 fault of the baseline is gone; write it again with --write-baseline" in result.output
    assert "    models/scale/config.pbtxt: max-batch-size-negative\n" in result.output
    data = json.loads(run(MODELS, "--baseline", KNOWN, "--format", "json").stdout)
    assert data["gone"] == [{"rule": "max-batch-size-negative", "path": "models/scale/config.pbtxt"}]
    assert [fault["path"] for fault in data["known"]] == ["models/other/config.pbtxt"]


def test_what_was_not_looked_at_is_not_gone() -> None:
    """Otherwise checking one repository, or for one image, tells people to shrink the baseline of all."""
    write_model(MODELS, NEGATIVE)
    write_model(Path("others"), NEGATIVE)
    run(MODELS, "others", "--image", "23.04", "--write-baseline", KNOWN)
    assert "gone" not in run(MODELS, "--image", "23.04", "--baseline", KNOWN).output
    assert "gone" not in run(MODELS, "others", "--baseline", KNOWN).output  # image-not-on-sagemaker
    write_model(MODELS, python_model(), "beside")
    packed = (MODELS, "--instance", "ml.m5.xlarge")
    run(*packed, "--write-baseline", KNOWN)
    assert "gone" not in run(*packed, "--single", "--baseline", KNOWN).output  # sagemaker-no-ensemble


def test_the_file_is_the_same_for_the_same_faults_and_has_a_line_for_each() -> None:
    """Otherwise it changes without a reason, and merges conflict."""
    write_model(MODELS, NEGATIVE)
    write_model(MODELS, NEGATIVE, "other")
    first = written()
    assert written() == first
    assert sum("max-batch-size-negative" in line for line in first.splitlines()) == 2
    (MODELS / "other" / "config.pbtxt").write_text(python_model())
    assert set(written().replace(",\n", "\n").splitlines()) < set(first.replace(",\n", "\n").splitlines())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "this baseline is damaged: it is not JSON; write it again: check --write-baseline FILE"),
        ("\udcff", "damaged: it is not JSON"),
        ('{"faults": []}', "this is not a baseline of check"),
        ('{"kind": "triton-ensembles-baseline", "format": 2}', "has format 2, and this version reads format 1; update"),
        ('{"kind": "triton-ensembles-baseline", "format": 1}', "this baseline is damaged"),
        (None, "there is no such baseline; write it first: check --write-baseline FILE"),
    ],
)
def test_a_baseline_that_cannot_be_used_is_a_line_with_its_cure(text: str | None, words: str) -> None:
    """Otherwise CI shows a traceback, or takes every fault for known."""
    write_model(MODELS, NEGATIVE)
    if text is not None:
        KNOWN.write_bytes(text.encode("utf-8", "surrogateescape"))
    result = run(MODELS, "--baseline", KNOWN)
    assert result.exit_code == 2 and words in result.stderr and "known.json" in result.stderr


def test_a_baseline_that_cannot_be_written_is_a_line() -> None:
    """Otherwise a slip of the keyboard deletes a config, and a misspelled folder is a traceback."""
    config = write_model(MODELS, NEGATIVE)
    result = run(MODELS, "--write-baseline", config)
    assert result.exit_code == 2 and "this file is not a baseline of check, and is kept" in result.stderr
    assert config.read_text() == NEGATIVE
    result = run(MODELS, "--write-baseline", "no/such/folder.json")
    assert result.exit_code == 2 and "folder.json: the baseline cannot be written: No such file" in result.stderr


def test_another_wording_and_other_numbers_are_the_same_fault() -> None:
    """Otherwise a new version of check makes all old faults new."""
    place = Place("models/scale/config.pbtxt", 1)
    old = Fault(Severity.ERROR, "rule", place, "the model's name is 'a', its folder 'b', and 3 others'")
    new = Fault(Severity.WARNING, "rule", place, "'a' isn't the name of 'b', nor of 4")
    other = Fault(Severity.ERROR, "rule", place, "the model's name is 'a', its folder 'c', and 3 others'")
    assert fingerprint(old) == fingerprint(new) != fingerprint(other)


def test_faults_in_archives_are_known_by_their_member() -> None:
    """Otherwise the baseline of dist/ knows nothing, or everything."""
    write_model(MODELS, NEGATIVE)
    for name in ("first", "second"):
        pack(MODELS, Path("one.tar.gz"))
        if name == "first":
            run("one.tar.gz", "--write-baseline", KNOWN)
            assert run("one.tar.gz", "--baseline", KNOWN).exit_code == 0
            write_model(MODELS, NEGATIVE, "another")
    assert run("one.tar.gz", "--baseline", KNOWN).exit_code == 1
