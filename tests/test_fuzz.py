"""``make fuzz`` on a property that does not hold."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import KEPT, ROOT

pytestmark = pytest.mark.slow

WRONG = """
from hypothesis import given, strategies as st

@given(st.integers(), st.text())
def test_small(number: int, text: str) -> None:
    assert number < 100, text
"""


def test_what_fails_is_printed_as_an_example(tmp_path: Path) -> None:
    """Otherwise somebody has to copy the example out of pytest's report by hand, or it is lost."""
    path = tmp_path / "test_wrong.py"
    path.write_text(WRONG)
    command = [sys.executable, "-m", "tests.fuzz", "--seconds", "0", "--workers", "1", str(path)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    before = KEPT.read_bytes() if KEPT.exists() else None
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        kept = KEPT.read_text()
    finally:
        KEPT.unlink(missing_ok=True) if before is None else KEPT.write_bytes(before)
    assert done.returncode == 1, done.stderr
    assert "# test_small\n@example(\n    number=100," in done.stdout
    assert "@example(\n    number=100," in kept
