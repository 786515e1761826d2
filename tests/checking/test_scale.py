"""Checking takes time in proportion to what there is to check, up to limits that no sensible repository reaches."""

import gzip
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.packing import IO, MODEL_PY, Content, ensemble_of, faults, packed, python_step, write, write_folder
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


def _models(count: int) -> dict[str, Content]:
    files: dict[str, Content] = {}
    for number in range(count):
        files |= {f"m{number}/config.pbtxt": python_step(), f"m{number}/1/model.py": MODEL_PY}
    return files


def _ensembles(count: int) -> dict[str, Content]:
    files: dict[str, Content] = {"s/config.pbtxt": python_step(), "s/1/model.py": MODEL_PY}
    for number in range(count):
        files |= {f"e{number}/config.pbtxt": ensemble_of("s"), f"e{number}/1": None}
    return files


def _nested(count: int) -> dict[str, Content]:
    files = _ensembles(count)
    return files | {f"e{number}/config.pbtxt": ensemble_of(f"e{number + 1}") for number in range(count - 1)}


def _ring(count: int) -> dict[str, Content]:
    return _nested(count) | {f"e{count - 1}/config.pbtxt": ensemble_of("e0")}


def _missing(count: int) -> dict[str, Content]:
    return {f"e{number}/config.pbtxt": ensemble_of(f"s{number}") for number in range(count)}


def _steps(*order: int) -> str:
    last = len(order) - 1
    steps = ", ".join(
        f'{{ model_name: "s" model_version: -1 input_map {{ key: "X" value: "{f"t{number}" if number else "X"}" }}'
        f' output_map {{ key: "Y" value: "{f"t{number + 1}" if number < last else "Y"}" }} }}'
        for number in order
    )
    return f'platform: "ensemble"\nmax_batch_size: 8\n{IO}ensemble_scheduling {{ step [ {steps} ] }}\n'


def _chain_backwards(count: int) -> dict[str, Content]:
    return _ensembles(1) | {"e0/config.pbtxt": _steps(*reversed(range(count)))}


def _fan(count: int) -> dict[str, Content]:
    (only,) = re.findall(r"step \[ (.*) \]", _steps(0))
    return _ensembles(1) | {"e0/config.pbtxt": _steps(0).replace(only, ", ".join([only] * count))}


def _inputs(count: int, head: str = 'backend: "python"') -> dict[str, Content]:
    inputs = ", ".join(io_tensor(f"i{number}") for number in range(count))
    return {"m/config.pbtxt": f"{head}\ninput [ {inputs} ]\n{IO}", "m/1/model.py": MODEL_PY}


def _accepted(count: int) -> dict[str, Content]:
    comment = "# check: ignore[tensor-dims-missing] they come with the next training\n"
    return {"m/config.pbtxt": python_step() + comment * count, "m/1/model.py": MODEL_PY + comment * count}


def _torch(count: int) -> dict[str, Content]:
    return _inputs(count, 'platform: "pytorch_libtorch"') | {"m/1/model.pt": ""}


def _versions(count: int) -> dict[str, Content]:
    numbers = ", ".join(map(str, range(count)))
    files: dict[str, Content] = {f"m/{number}/model.py": MODEL_PY for number in range(count)}
    return {"m/config.pbtxt": f"{python_step()}version_policy {{ specific {{ versions: [ {numbers} ] }} }}\n", **files}


def _environments(count: int) -> dict[str, Content]:
    files: dict[str, Content] = {}
    for number in range(count):
        files[f"m{number}/config.pbtxt"] = python_step("$$TRITON_MODEL_DIRECTORY/env")
        files[f"m{number}/1/model.py"] = MODEL_PY
        files |= {f"m{number}/env/bin/activate": "", f"m{number}/env/lib/python3.10/os.py": ""}
        files[f"m{number}/1/__pycache__/model.pyc"] = ""
    return files


def _links(count: int) -> dict[str, Content]:
    return _models(1) | {f"../up{number}": "" for number in range(count)}


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
    path.write_bytes(gzip.compress(tar, 1) + packed(_models(1)))
    return path


_MADE = [_models, _ensembles, _nested, _ring, _missing, _environments]
_LARGE = [_chain_backwards, _fan, _inputs, _accepted, _torch, _versions, _links]


@pytest.mark.parametrize(
    ("made", "count", "times"),
    [*((made, 60, 3) for made in _MADE), *((made, 90, 10) for made in _LARGE)],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
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
    path = write(tmp_path / "a.tar.gz", _ring(990))
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
    for path in (write_folder(tmp_path / "models", files), write(tmp_path / "a.tar.gz", files)):
        (fault,) = check([path]).faults
        assert (fault.rule, fault.severity) == ("repository-too-large", Severity.ERROR)
        assert "brackets" in fault.message


def test_a_name_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    """Otherwise a line of the report is a megabyte long."""
    files: dict[str, Content] = {"m/config.pbtxt": python_step().replace('"X"', f'"{"x" * 900_000}"')}
    findings = check([write(tmp_path / "a.tar.gz", files | {"m/1/model.py": MODEL_PY})]).faults
    assert findings
    assert max(len(fault.message) for fault in findings) < 3000
