"""A stub in an archive has to be of the image's release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking.packing import Content, faults, members, write
from triton_ensembles.checking.fault import Severity


@pytest.mark.parametrize(
    ("triton", "image", "expected"),
    [
        ("2.51.0", "24.09", ("stub-release", Severity.ERROR)),
        ("2.51.0", "24.10", None),
        ("", "24.09", ("stub-release-unknown", Severity.WARNING)),
        ("2.51.0", "", None),
    ],
)
def test_a_stub_is_of_one_release(
    triton: str, image: str, expected: tuple[str, Severity] | None, tmp_path: Path
) -> None:
    """Otherwise the archive is deployed, and its steps do not load."""
    files: dict[str, Content] = {**members("a"), "a.step/triton_python_backend_stub": b"\x7fELF"}
    if triton:
        files["manifest.json"] = f'{{"triton": "{triton}"}}'
    found = faults(write(tmp_path / "a.tar.gz", files), image=image, instance="ml.c5.xlarge")
    assert [(fault.rule, fault.severity) for fault in found if fault.rule.startswith("stub")] == (
        [expected] if expected else []
    )
