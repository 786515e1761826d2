"""Packed environments: where they are, and whether they have what the server and the code need."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, Content, environment, faults, folder, link, members, rules, write
from triton_ensembles.checking.fault import Severity

FOLDER = "$$TRITON_MODEL_DIRECTORY"
SITE = "lib/python3.10/site-packages"


def _archive(place: Path, packed: bytes, model_py: str = MODEL_PY, **more: Content) -> Path:
    """An archive with the environment as a folder."""
    files = {**members("a", f"{FOLDER}/env", model_py), **folder("a.step/env", packed), **more}
    return write(place / "a.tar.gz", files)


def _with_tar(place: Path, packed: bytes) -> Path:
    return write(place / "a.tar.gz", {**members("a", f"{FOLDER}/env.tar.gz"), "a.step/env.tar.gz": packed})


def test_a_good_environment_has_no_fault(tmp_path: Path) -> None:
    """Otherwise a good environment is reported, with its byte code or without."""
    for packed in (environment("3.10"), site("__pycache__/six.cpython-310.pyc", "x")):
        assert not faults(_archive(tmp_path, packed), image="24.09", instance="ml.c5.xlarge")


def test_a_tar_is_warned_of_with_the_bytes_that_it_leaves(tmp_path: Path) -> None:
    """Otherwise the disk of an endpoint fills with environments of models that are long unloaded."""
    packed = environment("3.10", {"lib/libbig.so": b"x" * 1_234_567})
    (fault,) = faults(_with_tar(tmp_path, packed), image="24.09", instance="ml.c5.xlarge")
    assert (fault.rule, fault.severity) == ("environment-tar", Severity.WARNING)
    assert re.search(r"keeps 1,234,[67]\d\d bytes in /tmp", fault.effect)


def test_a_release_that_takes_no_folder_is_given_a_tar(tmp_path: Path) -> None:
    """Otherwise the archive is refused by an image of 2023, or warned of where there is no other way."""
    assert "environment-folder" in rules(_archive(tmp_path, environment("3.10")), image="23.06")
    packed = rules(_with_tar(tmp_path, environment("3.10")), image="23.06")
    assert not packed & {"environment-folder", "environment-tar"}


def test_a_misspelled_folder_is_named(tmp_path: Path) -> None:
    """Otherwise people look for a .tar.gz that there never was."""
    files = {**members("a", f"{FOLDER}/environments"), **folder("a.step/environment", environment("3.10"))}
    (fault,) = faults(write(tmp_path / "a.tar.gz", files))
    assert fault.rule == "environment-missing"
    assert f'did you mean "{FOLDER}/environment"?' in fault.cure


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (f"{FOLDER}/../missing.tar.gz", "environment-missing"),
        ("$TRITON_MODEL_DIRECTORY/env.tar.gz", "environment-relative"),
        (f"{FOLDER}/../root_env.tar.gz", "environment-shared"),
        (f"{FOLDER}/../a.step/env.tar.gz", None),
    ],
)
def test_where_the_environment_lies(path: str, rule: str | None, tmp_path: Path) -> None:
    """Otherwise the step does not start: Failed to get the canonical path."""
    packed = environment("3.10")
    files = {**members("a", path), "a.step/env.tar.gz": packed}
    if "root" in path:
        files["root_env.tar.gz"] = files.pop("a.step/env.tar.gz")
    assert rules(write(tmp_path / "a.tar.gz", files)) - {"environment-tar"} == ({rule} if rule else set())


def site(path: str, text: str) -> bytes:
    """An environment that also has this file in its site-packages."""
    return environment("3.10", {f"{SITE}/{path}": text})


@pytest.mark.parametrize(
    ("packed", "rule"),
    [
        (site("easy-install.pth", "/home/me/mine\n"), "editable"),
        (site("mine-1.dist-info/direct_url.json", '{"url": "file:///m", "dir_info": {"editable": true}}'), "editable"),
        (environment("3.10", {"bin/python3.10": link("bin/python3.10", "/usr/bin/python3.10")}), "links"),
        (site("x-1.dist-info/WHEEL", "Tag: cp310-cp310-manylinux_2_17_aarch64\n"), "platform"),
        (environment("3.10", {"conda-meta/x-1-0.json": '{"subdir": "osx-arm64"}'}), "platform"),
        (site("x-1.dist-info/WHEEL", "Tag: cp310-cp310-manylinux_2_38_x86_64\n"), "glibc"),
        (environment("3.10", {"lib/libstdc++.so.6.0.28": b"\x7fELF"}), "libstdcxx"),
        (b"not a gzip file at all", "format"),
        (environment("3.10")[:-40], "format"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_fault_of_an_environment_is_named(packed: bytes, rule: str, tmp_path: Path) -> None:
    """Otherwise a quarter of an hour later the step does not start on SageMaker, or gives wrong answers."""
    assert f"environment-{rule}" in rules(_with_tar(tmp_path, packed), image="24.09")
    if rule != "format":
        assert f"environment-{rule}" in rules(_archive(tmp_path, packed), image="24.09")


def test_a_record_of_a_local_wheel_is_not_a_fault(tmp_path: Path) -> None:
    """Otherwise a package installed from a local wheel is reported as editable."""
    extra: dict[str, Content] = {
        f"{SITE}/mine-1.dist-info/direct_url.json": json.dumps({"url": "file:///wheels/mine.whl", "archive_info": {}}),
        f"{SITE}/distutils-precedence.pth": "import os; os.environ",
        "bin/python3": link("bin/python3", "python3.10"),
        "lib/libz.so": link("lib/libz.so", "../lib/libz.so.1"),
    }
    path = _with_tar(tmp_path, environment("3.10", extra))
    assert rules(path, image="24.09", instance="ml.c5.xlarge") == {"environment-tar"}


def test_a_stub_in_the_models_folder_has_its_own_python(tmp_path: Path) -> None:
    """Otherwise a step with its own stub is told to change its Python."""
    more: dict[str, Content] = {"a.step/triton_python_backend_stub": b"\x7fELF"}
    assert rules(_archive(tmp_path, environment("3.11"), **more), image="24.09") == {"stub-release-unknown"}


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("import torch\n", Severity.ERROR),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", None),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n", None),
        ("def late():\n    import torch\n", Severity.WARNING),
        ("import helper\n", Severity.ERROR),  # helper.py imports torch
        ("import beside\n", None),
    ],
)
def test_imports_against_the_environment(code: str, severity: Severity | None, tmp_path: Path) -> None:
    """Otherwise the step ends in ModuleNotFoundError on the endpoint."""
    extra: dict[str, Content] = {"lib/python3.10/typing.py": ""}
    more: dict[str, Content] = {"a.step/1/helper.py": "import torch\n", "a.step/beside.py": "X = 1\n"}
    path = _archive(tmp_path, environment("3.10", extra), code + MODEL_PY, **more)
    found = [fault for fault in faults(path) if fault.rule.startswith("environment-import")]
    expected = {("environment-import-missing", severity)} if severity else set()
    assert {(fault.rule, fault.severity) for fault in found} == expected
    if "helper" in code:
        assert str(found[0].place).endswith("a.step/1/helper.py:1:1")


def test_numpy_2_is_right_for_newer_images(tmp_path: Path) -> None:
    """Otherwise numpy 2 is refused where it works."""
    extra: dict[str, Content] = {"lib/python3.12/site-packages/numpy-2.1.0.dist-info/METADATA": ""}
    gone = [f"lib/python3.12/site-packages/numpy-1.26.4.dist-info/{name}" for name in ("METADATA", "WHEEL")]
    path = _archive(tmp_path, environment("3.12", extra, gone))
    assert rules(path, image="24.11") == {"image-not-on-sagemaker"}
    assert "environment-numpy" in rules(path, image="24.10")
