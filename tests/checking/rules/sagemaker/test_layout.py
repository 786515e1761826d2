"""Files that should be archives."""

from __future__ import annotations

from pathlib import Path

from tests.checking.packing import faults, members, write


def test_junk_is_a_fault_and_does_not_crash(tmp_path: Path) -> None:
    """Otherwise a broken upload stops the check of all the others."""
    good = write(tmp_path / "good.tar.gz", members()).read_bytes()
    for number, data in enumerate((b"", b"junk" * 99, good[:200])):
        path = tmp_path / f"{number}.tar.gz"
        path.write_bytes(data)
        assert not any("this rule itself failed" in fault.message for fault in faults(path))
