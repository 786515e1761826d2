"""A project of someone's own, whose tests are run by a pytest of their own that has the plugin as from a wheel."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkout import ROOT
from tests.chain import write_chain
from tests.core import PROJECT
from tests.files import write_files

Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH on which the package is as `pip install` leaves it, with the entry points of pyproject.toml."""
    folder, version = tmp_path_factory.mktemp("installed"), PROJECT["version"]
    points = [f"{name} = {module}\n" for name, module in PROJECT["entry-points"]["pytest11"].items()]
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: triton-ensembles\nVersion: {version}\n",
        "entry_points.txt": "".join(["[pytest11]\n", *points]),
    }
    write_files(folder / f"triton_ensembles-{version}.dist-info", files)
    return os.pathsep.join(map(str, (folder, ROOT)))


@pytest.fixture
def project(pytester: pytest.Pytester, installed: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the ensemble ``chain`` (tests/chain.py)."""
    monkeypatch.setenv("PYTHONPATH", installed)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    write_chain(pytester.path)
    return pytester.path


@pytest.fixture
def run(project: Path, pytester: pytest.Pytester) -> Run:
    """``run(code, *arguments)``: the result of pytest over a file with these tests."""

    def call(code: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(code)
        command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments)
        return pytester.run(*command)

    return call
