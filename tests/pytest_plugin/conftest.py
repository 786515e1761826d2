"""A project of someone's own, whose tests are run by a pytest of their own that has the plugin as from a wheel."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkout import ROOT
from tests.chain import write_chain
from tests.core import PROJECT

Run = Callable[..., pytest.RunResult]
METADATA = f"Metadata-Version: 2.1\nName: triton-ensembles\nVersion: {PROJECT['version']}\n"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PYTHONPATH on which the package is as `pip install` leaves it, with the entry points of pyproject.toml."""
    folder = tmp_path_factory.mktemp("installed")
    described = folder / f"triton_ensembles-{PROJECT['version']}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(METADATA)
    points = [f"{name} = {module}" for name, module in PROJECT["entry-points"]["pytest11"].items()]
    (described / "entry_points.txt").write_text("\n".join(["[pytest11]", *points, ""]))
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
