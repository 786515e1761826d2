"""Packages beside model.py: the server's Python must import them, and they must have what model.py imports."""

import json
from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, Content, faults, members, rules, write, write_folder
from triton_ensembles.triton.home import server_python

HERE = server_python().replace(".", "")


def archive(folder: Path, model_py: str = MODEL_PY, tag: str = "py3-none-any", **more: Content) -> Path:
    """An archive whose step has the package ``mine`` beside model.py, as the build leaves it."""
    files: dict[str, Content] = {
        **members("a", model_py=model_py),
        "a.step/1/mine/__init__.py": "import something_optional_that_nobody_has\n",
        "a.step/1/mine-1.0.dist-info/METADATA": "Name: mine\n",
        "a.step/1/mine-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n",
        "a.step/1/mine-1.0.dist-info/top_level.txt": "mine\n",
        **more,
    }
    return write(folder / "a.tar.gz", files)


@pytest.mark.parametrize(
    ("tag", "image", "rule"),
    [
        ("py3-none-any", "24.09", None),
        ("cp310-cp310-manylinux_2_17_x86_64", "24.09", None),
        ("cp39-abi3-manylinux2014_x86_64", "25.04", None),
        ("cp311-abi3-manylinux_2_17_x86_64", "24.09", "environment-wheels-python"),
        ("py2-none-any", "24.09", "environment-wheels-python"),
        ("cp310-cp310-manylinux_2_17_aarch64", "24.09", "environment-platform"),
        (f"cp{HERE}-cp{HERE}-manylinux_2_17_x86_64", "", None),
        ("cp37-cp37m-manylinux_2_17_x86_64", "", "environment-wheels-python"),
        ("py3-none-manylinux_2_98_x86_64", "", "environment-wheels-glibc"),
    ],
)
def test_wheels_must_suit_the_server(tag: str, image: str, rule: str | None, tmp_path: Path) -> None:
    """Otherwise the step ends in an ImportError on the endpoint, a quarter of an hour later."""
    found = rules(archive(tmp_path, tag=tag), image=image, instance="ml.c5.xlarge" if image else "")
    assert found == ({rule} if rule else set())


def test_an_archive_for_an_image_is_judged_by_that_image(tmp_path: Path) -> None:
    """Otherwise an archive that was built for SageMaker could not be checked or rehearsed without naming its image."""
    manifest = json.dumps({"ensemble": "a", "image": "25.04"})
    path = archive(tmp_path, tag="cp312-cp312-manylinux_2_39_x86_64", **{"manifest.json": manifest})
    assert rules(path) == set()
    assert "environment-wheels-python" in rules(path, image="24.09")


def test_an_extension_module_of_another_python_is_found_without_tags(tmp_path: Path) -> None:
    """Otherwise files that people copied beside model.py are not checked at all."""
    module = "a.step/1/mine/_fast.cpython-38-x86_64-linux-gnu.so"
    (fault,) = faults(archive(tmp_path, **{module: b"\x7fELF"}), image="24.09", instance="ml.c5.xlarge")
    assert fault.rule == "environment-wheels-python"
    assert str(fault.place).endswith(module)
    assert "3.8" in fault.message and "3.10" in fault.message


def test_numpy_2_beside_model_py_is_refused(tmp_path: Path) -> None:
    """Otherwise every answer is silently wrong."""
    more: dict[str, Content] = {"a.step/1/numpy-2.1.0.dist-info/METADATA": "Name: numpy\n"}
    assert "environment-numpy" in rules(archive(tmp_path, **more), image="24.09")
    assert "environment-numpy" not in rules(archive(tmp_path, **more), image="25.04")


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("import mine, json, numpy, helper\n", None),
        ("import torch\n", "environment-import-missing"),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", None),
    ],
)
def test_imports_are_found_beside_model_py_or_missed(code: str, rule: str | None, tmp_path: Path) -> None:
    """Otherwise the step fails at load; and what a package itself imports is not the step's fault."""
    path = archive(tmp_path, code + MODEL_PY, **{"a.step/1/helper.py": "import os\n"})
    assert rules(path, image="24.09", instance="ml.c5.xlarge") == ({rule} if rule else set())


def test_archives_for_different_pythons_fit_no_image(tmp_path: Path) -> None:
    """Otherwise two archives that no image can load are put on one endpoint."""
    paths = [
        archive(tmp_path / python, tag=f"cp{python}-cp{python}-manylinux_2_17_x86_64", **{"manifest.json": manifest})
        for python, manifest in (("310", '{"image": "24.09"}'), ("312", '{"image": "25.04"}'))
    ]
    assert "image-none-fits" in rules(*paths)


@pytest.mark.parametrize(("kind", "read"), [("wheels", False), ("folder", True)])
def test_wheels_ignore_the_python_of_an_environment_file(kind: str, read: bool, tmp_path: Path) -> None:
    """Otherwise people change a line that nothing reads."""
    files = members("ensemble", model_py="import mine\n" + MODEL_PY)
    files["../../envs/x.yml"] = "dependencies:\n  - python=3.11\n"
    recipe = f'[environments.x]\nfile = "envs/x.yml"\nsteps = ["ensemble.step"]\nkind = "{kind}"\n'
    files["ensemble.toml"] = f'description = "x"\n{recipe}'
    found = rules(write_folder(tmp_path / "ensembles" / "a", files), image="24.09")
    assert ("environment-file-python" in found) == read
    assert "environment-import-unnamed" in found
