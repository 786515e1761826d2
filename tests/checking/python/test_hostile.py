"""Python that was made to keep the checker busy: it is read in proportion to its length, or not at all, with a note."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checking.packing import MODEL_PY, Content, faults, members, python_step, write
from tests.checking.test_scale import work
from triton_ensembles.checking.examples import HEAD
from triton_ensembles.checking.fault import Fault, Severity

_HEAD = f"{HEAD}class TritonPythonModel:\n    def execute(self, requests):\n"
_GET = "pb_utils.get_input_tensor_by_name(requests[0], "


def _reads(count: int) -> str:
    lines = (f"        x{number} = {_GET}n{number})\n" for number in range(count))
    return _HEAD + "".join(lines) + "".join(f"n{number} = 'X'\n" for number in range(count))


def _helpers(count: int) -> str:
    calls = "".join(f"\n    def f{number}(self):\n        self.f{number + 1}(), self.f0()\n" for number in range(count))
    return MODEL_PY + calls


def _with(count: int) -> str:
    return f"{MODEL_PY}\n    def later(self):\n        with g(0{' + 1' * count}):\n" + "            f()\n" * count


def _loop(count: int) -> str:
    names = ", ".join(f"n{number}" for number in range(count))
    uses = "".join(f"            {_GET}n{number})\n" for number in range(count))
    return f"{_HEAD}        for {names} in self.all:\n{uses}"


def _lambda(count: int) -> str:
    return f"{_HEAD}        f = lambda a: [{', '.join(f'{_GET}n{number})' for number in range(count))}]\n"


def _imports(count: int) -> str:
    return "".join(f"import p{number}\n" for number in range(count)) + MODEL_PY


def _responses(count: int) -> str:
    names = (f"        r{number} = pb_utils.Tensor('Y', 0)\n" for number in range(count))
    return f"{_HEAD}{''.join(names)}        return [{', '.join(f'r{number}' for number in range(count))}]\n"


_MADE = [_reads, _helpers, _with, _loop, _lambda, _imports, _responses]


@pytest.mark.parametrize("made", _MADE, ids=lambda made: made.__name__.strip("_"))
def test_three_times_as_long_takes_three_times_the_work(made: Callable[[int], str], tmp_path: Path) -> None:
    """Otherwise a model.py of 300 KB keeps `check` busy for a minute."""
    small, large = (_work_of(made(count), tmp_path / f"{count}.tar.gz") for count in (60, 180))
    assert large < small * 4


def _work_of(text: str, path: Path) -> int:
    beside: dict[str, Content] = {f"m/1/f{number}.py": "" for number in range(text.count("\n"))}
    return work(write(path, {"m/config.pbtxt": python_step(), "m/1/model.py": text, **beside}))


def code_faults(folder: Path, model_py: str | bytes) -> list[Fault]:
    """The faults of an archive in ``folder`` whose only step has this model.py."""
    return faults(write(folder / "a.tar.gz", {**members("a"), "a.step/1/model.py": model_py}))


@pytest.mark.parametrize(
    "line",
    [
        "a;" * 200_000,
        f"x = 1{'+1' * 100_000}",
        f"x = f'{'{a}' * 60_000}'",
        f"x{'[0]' * 800}\n" * 100,
        f"import a{'.a' * 9000}",
    ],
    ids=["dense", "nested", "f-string", "deep", "dotted"],
)
def test_what_would_take_long_is_not_read_and_a_note_says_so(line: str, tmp_path: Path) -> None:
    """Otherwise it takes a gigabyte or minutes, or a file that the server loads is an error here."""
    (fault,) = code_faults(tmp_path, f"{MODEL_PY}\n{line}\n")
    assert (fault.rule, fault.severity) == ("python-unread", Severity.NOTE)
    assert fault.place.path.endswith("a.step/1/model.py")


def test_of_many_long_files_some_are_read_and_one_note_counts_the_others(tmp_path: Path) -> None:
    """Otherwise two hundred files of 300 KB take minutes and a gigabyte."""
    files: dict[str, Content] = {}
    for number in range(20):
        text = f"{MODEL_PY}\nN = {number}\n[{'1, ' * 40_000}]\n"
        files |= {f"m{number}/config.pbtxt": python_step(), f"m{number}/1/model.py": text}
    (fault,) = [each for each in faults(write(tmp_path / "a.tar.gz", files)) if each.rule == "python-unread"]
    assert "of the Python files here were not read: m" in fault.message
    assert fault.message.endswith("m9/1/model.py")


def test_a_large_model_py_is_read_and_a_larger_one_is_said(tmp_path: Path) -> None:
    """Otherwise a table of data in model.py hides its faults."""
    for size, expected in ((400_000, "model-py-no-execute"), (600_000, "python-unread")):
        code = f'WORDS = "{"x" * size}"\n\n\nclass TritonPythonModel:\n    pass\n'
        assert [fault.rule for fault in code_faults(tmp_path, code)] == [expected]


@pytest.mark.parametrize(
    "code",
    ["(" * 5000, "x = " + "-" * 20000 + "1", "a" + ".b" * 20000, "if 1:\n", "\0", "# coding: nonsense\n"]
    + [f"{_HEAD}        a = b\n        b = a\n        return {names}\n" for names in ("a", "[a]")]
    + [f"{_HEAD}        return 0x{'f' * 9000}\n"],
)
def test_odd_code_breaks_no_rule(code: str, tmp_path: Path) -> None:
    """Otherwise deep code, names that stand for each other, or a number that cannot be printed, end the rule."""
    assert not [fault for fault in code_faults(tmp_path, code) if "itself failed" in fault.message]


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from([b"", MODEL_PY.encode()]), st.one_of(st.binary(max_size=300), st.text().map(str.encode)))
def test_no_text_makes_a_rule_fail(tmp_path: Path, before: bytes, junk: bytes) -> None:
    """Otherwise one odd file stops the check."""
    assert not [fault for fault in code_faults(tmp_path, before + junk) if "itself failed" in fault.message]
