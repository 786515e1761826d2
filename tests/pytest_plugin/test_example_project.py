"""examples/project, copied to another place: its check, its tests and their report."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from checkout import PLACES, ROOT


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """With the store of this checkout, so that no package is downloaded again."""
    folder = tmp_path / "project"
    ignored = shutil.ignore_patterns("build", "dist", "__pycache__", ".pytest_cache")
    shutil.copytree(ROOT / "examples" / "project", folder, ignore=ignored)
    (folder / "build").mkdir()
    PLACES.store.mkdir(parents=True, exist_ok=True)
    (folder / "build" / "store").symlink_to(PLACES.store)
    return folder


def test_it_has_no_faults_and_its_tests_pass(
    copy: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    check = [sys.executable, "-m", "triton_ensembles", "check", "--strict"]
    checked = subprocess.run(check, cwd=copy, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    monkeypatch.chdir(copy)
    plugin = ("-p", "triton_ensembles.pytest_plugin", "-p", "no:cacheprovider")
    result = pytester.run(sys.executable, "-m", "pytest", *plugin, "--junit-xml=report.xml")
    result.assert_outcomes(passed=10)
    report = ElementTree.parse(copy / "report.xml")
    (difference,) = report.iterfind(".//property[@name='largest_difference']")
    assert float(difference.attrib["value"]) < 1e-5
    assert (copy / "dist" / "cpu" / "support_tickets.tar.gz").is_file()
