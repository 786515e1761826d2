"""examples/project, copied to another place: its check, its tests and their report."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from checkout import PLACES, ROOT

pytestmark = pytest.mark.slow


def test_it_has_no_faults_and_its_tests_pass(
    tmp_path: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the store of this checkout, so that no package is downloaded again."""
    folder = tmp_path / "project"
    ignored = shutil.ignore_patterns("build", "dist", "__pycache__", ".pytest_cache")
    shutil.copytree(ROOT / "examples" / "project", folder, ignore=ignored)
    (folder / "build").mkdir()
    PLACES.store.mkdir(parents=True, exist_ok=True)
    (folder / "build" / "store").symlink_to(PLACES.store)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    check = [sys.executable, "-m", "triton_ensembles", "check", "--strict"]
    checked = subprocess.run(check, cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    monkeypatch.chdir(folder)
    plugin = ("-p", "triton_ensembles.pytest_plugin", "-p", "no:cacheprovider")
    result = pytester.run(sys.executable, "-m", "pytest", *plugin, "--junit-xml=report.xml")
    result.assert_outcomes(passed=10)
    (difference,) = ElementTree.parse(folder / "report.xml").iterfind(".//property[@name='largest_difference']")
    assert float(difference.attrib["value"]) < 1e-5
    assert (folder / "dist" / "cpu" / "support_tickets.tar.gz").is_file()
