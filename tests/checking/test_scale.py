"""Checking takes time in proportion to what there is to check, up to limits that no sensible repository reaches."""

import gzip
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.packing import IO, MODEL_PY, Content, ensemble_of, faults, packed, python_step, write
from tests.files import write_files
from tests.work import calls_of
from triton_ensembles.checking.checker import check, check_repositories
from triton_ensembles.checking.examples import io_tensor
from triton_ensembles.checking.fault import Severity
from triton_ensembles.checking.repository_search import find_repositories
from triton_ensembles.triton.destination import Destination

pytestmark = pytest.mark.slow

_Made = Callable[[int], dict[str, Content]]
_MOST_GROWTH = 1.3  # of the work for a model or a step, when there are 3 or 10 times as many of them


def work(path: Path) -> int:
    """The calls that checking ``path`` takes."""
    destination = Destination("fused", "ml.m5.xlarge", "24.10")
    return calls_of(lambda: list(check_repositories(list(find_repositories(path)), destination)))


def _each(count: int, files: dict[str, Content]) -> dict[str, Content]:
    """The files for each number, which their paths have in the place of ``{}``."""
    return {path.replace("{}", str(number)): content for number in range(count) for path, content in files.items()}


STEP: dict[str, Content] = {"s/config.pbtxt": python_step(), "s/1/model.py": MODEL_PY}
USER: dict[str, Content] = {"e{}/config.pbtxt": ensemble_of("s"), "e{}/1": None}


def _nested(count: int, last: str = "s") -> dict[str, Content]:
    steps = [*(f"e{number}" for number in range(1, count)), last]
    configs = {f"e{number}/config.pbtxt": ensemble_of(step) for number, step in enumerate(steps)}
    return STEP | _each(count, USER) | configs


def _steps(*order: int) -> dict[str, Content]:
    """An ensemble of steps, each of which reads what the one before it in number writes."""
    names = ["X", *(f"t{number}" for number in range(1, len(order))), "Y"]
    steps = ", ".join(
        f'{{ model_name: "s" model_version: -1 input_map {{ key: "X" value: "{names[number]}" }}'
        f' output_map {{ key: "Y" value: "{names[number + 1]}" }} }}'
        for number in order
    )
    text = f'platform: "ensemble"\nmax_batch_size: 8\n{IO}ensemble_scheduling {{ step [ {steps} ] }}\n'
    return STEP | {"e/config.pbtxt": text, "e/1": None}


def _fan(count: int) -> dict[str, Content]:
    files = _steps(0)
    (only,) = re.findall(r"step \[ (.*) \]", str(files["e/config.pbtxt"]))
    return files | {"e/config.pbtxt": str(files["e/config.pbtxt"]).replace(only, ", ".join([only] * count))}


def _model(config: str) -> dict[str, Content]:
    return {"m/config.pbtxt": config, "m/1/model.py": MODEL_PY}


def _inputs(count: int) -> str:
    return f"input [ {', '.join(io_tensor(f'i{number}') for number in range(count))} ]\n{IO}"


def _members(count: int) -> list[str]:
    """Members of all kinds in one folder of a model."""
    forms = ("m0/1/b{}.bin", "m0/1/c{}.py", "m0/1/d{}.txt", "m0/1/f{}/", "m0/1/e{}.json")
    return [form.format(number) for number in range(count // len(forms)) for form in forms]


def _folders(count: int) -> list[str]:
    return [f"n{number}/" for number in range(count)]


def _write_empty(path: Path, names: list[str]) -> Path:
    """A model's archive that also has empty files and folders of these names."""
    tar = bytearray()
    for name in names:
        item = tarfile.TarInfo(name)
        item.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
        tar += item.tobuf()
    path.write_bytes(gzip.compress(tar, 1) + packed(_each(1, _MODELS)))
    return path


_MODELS: dict[str, Content] = {"m{}/config.pbtxt": python_step(), "m{}/1/model.py": MODEL_PY}
_ENVIRONMENTS: dict[str, Content] = {
    "m{}/config.pbtxt": python_step("$$TRITON_MODEL_DIRECTORY/env"), "m{}/1/model.py": MODEL_PY,
    "m{}/env/bin/activate": "", "m{}/env/lib/python3.10/os.py": "", "m{}/1/__pycache__/model.pyc": "",
}  # fmt: skip
_ACCEPTED = "# check: ignore[tensor-dims-missing] they come with the next training\n"
_MADE: dict[str, tuple[_Made, int, int]] = {
    "models": (lambda count: _each(count, _MODELS), 60, 3),
    "ensembles": (lambda count: STEP | _each(count, USER), 60, 3),
    "nested": (_nested, 60, 3),
    "ring": (lambda count: _nested(count, "e0"), 60, 3),
    "missing": (lambda count: {f"e{one}/config.pbtxt": ensemble_of(f"s{one}") for one in range(count)}, 60, 3),
    "environments": (lambda count: _each(count, _ENVIRONMENTS), 60, 3),
    "chain backwards": (lambda count: _steps(*reversed(range(count))), 90, 10),
    "fan": (_fan, 90, 10),
    "inputs": (lambda count: _model(f'backend: "python"\n{_inputs(count)}'), 90, 10),
    "accepted": (lambda count: _model(python_step() + _ACCEPTED * count), 90, 10),
    "torch": (lambda count: _model(f'platform: "pytorch_libtorch"\n{_inputs(count)}') | {"m/1/model.pt": ""}, 90, 10),
    "versions": (
        lambda count: (
            _each(count, {"m/{}/model.py": MODEL_PY})
            | {"m/config.pbtxt": f"{python_step()}version_policy {{ specific {{ versions: {[*range(count)]} }} }}\n"}
        ),
        90,
        10,
    ),
    "links": (lambda count: _each(1, _MODELS) | _each(count, {"../up{}": ""}), 90, 10),
}


@pytest.mark.parametrize(("made", "count", "times"), _MADE.values(), ids=_MADE)
def test_work_grows_in_proportion(made: _Made, count: int, times: int, tmp_path: Path) -> None:
    """Otherwise a few thousand models or steps keep `check` busy for minutes."""
    small, large = (work(write(tmp_path / f"{size}.tar.gz", made(size))) for size in (count, count * times))
    assert large < small * times * _MOST_GROWTH


@pytest.mark.parametrize("made", [_members, _folders], ids=["members", "models"])
def test_a_hundred_thousand_are_read_in_proportion(made: Callable[[int], list[str]], tmp_path: Path) -> None:
    """Otherwise a folder with many files, or an archive that is refused for its many models, takes minutes."""
    paths = [_write_empty(tmp_path / f"{count}.tar.gz", made(count)) for count in (990, 9900, 99_000)]
    small, middle, large = map(work, paths)
    assert middle < small * 12
    assert large < middle * 12


def test_a_thousand_nested_ensembles_break_no_rule(tmp_path: Path) -> None:
    """Otherwise rules run out of the stack."""
    path = write(tmp_path / "a.tar.gz", _nested(990, "e0"))
    findings = faults(path)
    assert not [fault for fault in findings if "this rule itself failed" in fault.message]
    assert "ensemble-of-itself" in {fault.rule for fault in findings}


def test_of_many_models_nothing_is_concluded_and_one_line_says_why(tmp_path: Path) -> None:
    """Otherwise a step's model seems to be missing that was only not read. What is not checked is not green."""
    (fault,) = check([write(tmp_path / "a.tar.gz", _nested(6000))]).faults
    assert (fault.rule, fault.severity) == ("repository-too-large", Severity.ERROR)


@pytest.mark.parametrize("item", ["{}", "[],", "0x1,:"])
def test_a_config_of_many_brackets_is_not_read(item: str, tmp_path: Path) -> None:
    """Otherwise a megabyte of empty groups, each of which becomes an object that every rule looks at, takes seconds."""
    files: dict[str, Content] = {"m/config.pbtxt": f"{python_step()}input [ {item * 160_000} ]", "m/1": None}
    for path in (write_files(tmp_path / "models", files), write(tmp_path / "a.tar.gz", files)):
        (fault,) = check([path]).faults
        assert (fault.rule, fault.severity) == ("repository-too-large", Severity.ERROR)
        assert "brackets" in fault.message


def test_a_name_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    """Otherwise a line of the report is a megabyte long."""
    files: dict[str, Content] = {"m/config.pbtxt": python_step().replace('"X"', f'"{"x" * 900_000}"')}
    findings = check([write(tmp_path / "a.tar.gz", files | {"m/1/model.py": MODEL_PY})]).faults
    assert findings
    assert max(len(fault.message) for fault in findings) < 3000
