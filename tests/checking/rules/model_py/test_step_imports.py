"""Imports of steps without an environment: the bare Python of the server must have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import MODEL_PY, faults, members, rules, write, write_folder

CPU = "ml.c5.xlarge"


def archive(folder: Path, code: str, **more: str) -> Path:
    files = {**members("a", model_py=code + MODEL_PY), **{f"a.step/1/{name}.py": text for name, text in more.items()}}
    return write(folder / "a.tar.gz", files)


@pytest.mark.parametrize(
    ("code", "image", "rule"),
    [
        ("import json, os, numpy, helper\n", "24.09", None),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\n", "24.09", None),
        ("import torch\n", "registry.example.com/mine:prod", None),
        ("import imp\n", "25.04", "import-missing"),
        ("import distutils.util\n", "24.09", None),
        ("import distutils.util\n", "25.04", "import-uncertain"),  # setuptools of the image has it
        ("import tomllib\n", "24.09", "import-missing"),
        ("import tomllib\n", "25.04", None),
        ("import winreg\n", "24.09", "import-missing"),
        ("import setuptools\n", "24.09", "import-uncertain"),
        ("import setuptools\n", "", "import-missing"),
    ],
)
def test_an_import_that_is_nowhere_is_found(code: str, image: str, rule: str | None, tmp_path: Path) -> None:
    """Otherwise the step runs where its package happens to be installed, and fails in the image."""
    found = rules(archive(tmp_path, code, helper="import os\n"), image=image, instance=CPU)
    assert {name for name in found if name.startswith("import-")} == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("package", "rule"), [("mylib", None), ("sklearn", "import-uncertain")], ids=["in-a-folder", "nowhere"]
)
def test_folders_that_model_py_adds_to_sys_path_may_have_it(package: str, rule: str | None, tmp_path: Path) -> None:
    """Otherwise a step that loads its modules from a folder of its own is refused."""
    code = f"import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), 'lib'))\nimport {package}\n"
    found = rules(archive(tmp_path, code, **{"lib/mylib": "one = 1\n"}), image="24.09", instance=CPU)
    assert {name for name in found if name.startswith("import-")} == ({rule} if rule else set())


def test_what_a_file_beside_model_py_imports_counts_and_the_cure_names_the_distribution(tmp_path: Path) -> None:
    (fault,) = faults(archive(tmp_path, "import helper\n", helper="\nimport sklearn\n"), image="24.09", instance=CPU)
    assert "Python 3.10 has no module 'sklearn'" in fault.message
    assert "add scikit-learn to an environment of the step" in fault.cure
    assert str(fault.place).endswith("a.step/1/helper.py:2:1")


def test_a_step_without_environment_in_the_recipe(tmp_path: Path) -> None:
    """Otherwise the build makes an archive that cannot load."""
    files = members("ensemble", model_py=f"import sklearn\n{MODEL_PY}")
    folder = write_folder(tmp_path / "ensembles" / "a", files)
    recipe = folder / "ensemble.toml"
    recipe.write_text('description = "x"\n')
    assert "import-missing" in rules(folder)
    recipe.write_text('description = "x"\n[environments.x]\nfile = "envs/x.yml"\nsteps = ["ensemble.step"]\n')
    assert "import-missing" not in rules(folder)
